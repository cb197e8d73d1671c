//! Functions as they are written, and compiled by Cranelift.

use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I32, I64};
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, InstBuilder, MemFlags, SigRef, Signature, Type, Value,
};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa, lookup};
use cranelift_codegen::settings::{Configurable, Flags, builder};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use target_lexicon::Triple;

/// Where an object tells its type.
pub const OB_TYPE: i32 = 8;

/// Code, and where each function begins in it.
pub struct Functions {
    isa: OwnedTargetIsa,
    context: Context,
    scratch: FunctionBuilderContext,
    pub code: Vec<u8>,
    pub starts: Vec<usize>,
}

impl Functions {
    /// None where Cranelift knows no code for this processor.
    pub fn new() -> Option<Self> {
        let mut flags = builder();
        for (name, value) in [
            ("opt_level", "none"),
            ("enable_verifier", "false"),
            ("unwind_info", "false"),
        ] {
            flags.set(name, value).ok()?;
        }
        let isa = lookup(Triple::host()).ok()?.finish(Flags::new(flags)).ok()?;
        Some(Self {
            isa,
            context: Context::new(),
            scratch: FunctionBuilderContext::new(),
            code: Vec::new(),
            starts: Vec::new(),
        })
    }

    /// Compile a function that is given so many words, and answers with one of 32 bits.
    pub fn add(&mut self, given: usize, write: impl FnOnce(&mut Writer<'_>, &[Value])) -> Option<()> {
        self.context.clear();
        let call = self.isa.default_call_conv();
        self.context.func.signature = signature(call, given, Some(I32));
        let mut b = FunctionBuilder::new(&mut self.context.func, &mut self.scratch);
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        let given = b.block_params(entry).to_vec();
        let mut writer = Writer {
            b,
            signatures: Vec::new(),
        };
        write(&mut writer, &given);
        writer.b.seal_all_blocks();
        writer.b.finalize();
        let compiled = self
            .context
            .compile(&*self.isa, &mut ControlPlane::default())
            .ok()?;
        // What is outside is called by its address.
        if !compiled.buffer.relocs().is_empty() {
            return None;
        }
        const ALIGNED: usize = 32;
        self.code.resize(self.code.len().next_multiple_of(ALIGNED), 0);
        self.starts.push(self.code.len());
        self.code.extend_from_slice(compiled.code_buffer());
        Some(())
    }
}

fn signature(call: CallConv, given: usize, answer: Option<Type>) -> Signature {
    let mut signature = Signature::new(call);
    signature.params = vec![AbiParam::new(I64); given];
    signature.returns = answer.into_iter().map(AbiParam::new).collect();
    signature
}

pub struct Writer<'a> {
    pub b: FunctionBuilder<'a>,
    /// Of functions that are called, by how many words they are given and what they answer.
    signatures: Vec<((usize, Option<Type>), SigRef)>,
}

impl Writer<'_> {
    pub fn block(&mut self) -> Block {
        self.b.create_block()
    }

    /// Of code that seldom runs.
    pub fn cold_block(&mut self) -> Block {
        let block = self.b.create_block();
        self.b.set_cold_block(block);
        block
    }

    /// Write a block, and come back to the one that is being written.
    pub fn aside(&mut self, block: Block, write: impl FnOnce(&mut Self)) {
        let here = self.b.current_block().expect("a block is being written");
        self.b.switch_to_block(block);
        write(self);
        self.b.switch_to_block(here);
    }

    pub fn number(&mut self, number: i64) -> Value {
        self.b.ins().iconst(I64, number)
    }

    pub fn same(&mut self, a: Value, b: Value) -> Value {
        self.b.ins().icmp(IntCC::Equal, a, b)
    }

    /// Go on where the condition holds; else elsewhere.
    pub fn goes_on(&mut self, condition: Value, other: Block, given: &[BlockArg]) {
        let next = self.b.create_block();
        self.b.ins().brif(condition, next, &[], other, given);
        self.b.switch_to_block(next);
    }

    pub fn load(&mut self, ty: Type, from: Value, offset: i32) -> Value {
        self.b.ins().load(ty, MemFlags::trusted(), from, offset)
    }

    pub fn load_unsigned(&mut self, from: Value, offset: i32) -> Value {
        self.b.ins().uload32(MemFlags::trusted(), from, offset)
    }

    pub fn store(&mut self, value: Value, to: Value, offset: i32) {
        self.b.ins().store(MemFlags::trusted(), value, to, offset);
    }

    pub fn scaled(&mut self, base: Value, n: Value, shift: i64) -> Value {
        let offset = self.b.ins().ishl_imm(n, shift);
        self.b.ins().iadd(base, offset)
    }

    /// Call a function outside. Args: `answer` is the type that it gives.
    pub fn call(&mut self, function: usize, given: &[Value], answer: Option<Type>) -> Option<Value> {
        let function = self.number(function as i64);
        self.call_at(function, given, answer)
    }

    pub fn call_at(&mut self, function: Value, given: &[Value], answer: Option<Type>) -> Option<Value> {
        let signature = self.signature(given.len(), answer);
        let call = self.b.ins().call_indirect(signature, function, given);
        self.b.inst_results(call).first().copied()
    }

    fn signature(&mut self, given: usize, answer: Option<Type>) -> SigRef {
        let known = self.signatures.iter().find(|(key, _)| *key == (given, answer));
        if let Some((_, signature)) = known {
            return *signature;
        }
        let call = self.b.func.signature.call_conv;
        let signature = self.b.import_signature(signature(call, given, answer));
        self.signatures.push(((given, answer), signature));
        signature
    }

    pub fn answer(&mut self, answer: u32) {
        let answer = self.b.ins().iconst(I32, i64::from(answer));
        self.b.ins().return_(&[answer]);
    }
}
