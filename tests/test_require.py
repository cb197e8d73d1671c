"""HEADRACE_REQUIRE=all makes failures of skips."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

MARKED = "import pytest\n@pytest.mark.skip(reason='no JDK')\ndef test_it(): pass\n"
CALLED = "import pytest\ndef test_it(): pytest.skip('no JDK')\n"
FIXTURE = "import pytest\n@pytest.fixture\ndef jdk(): pytest.skip('no JDK')\ndef test_it(jdk): pass\n"
MODULE = "import pytest\npytest.skip('no JDK', allow_module_level=True)\n"


def run(folder: Path, source: str, require: str) -> subprocess.CompletedProcess[str]:
    """pytest over one file, in a process and a folder of its own."""
    (folder / "test_given.py").write_text(source)
    environment = os.environ | {
        "PYTHONPATH": str(TESTS),
        "HEADRACE_REQUIRE": require,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "require",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
    ]
    return subprocess.run(
        [*command, str(folder)], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    "source", [MARKED, CALLED, FIXTURE, MODULE], ids=["marked", "called", "fixture", "module"]
)
def test_a_skip_fails_where_everything_is_required(tmp_path: Path, source: str) -> None:
    result = run(tmp_path, source, "all")
    assert result.returncode in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED), result.stdout
    assert "no JDK (under HEADRACE_REQUIRE=all a skip is a failure)" in result.stdout


def test_a_skip_stays_a_skip_elsewhere(tmp_path: Path) -> None:
    result = run(tmp_path, CALLED, "")
    assert result.returncode == pytest.ExitCode.OK
    assert "1 skipped" in result.stdout


def test_passing_and_expectedly_failing_tests_stay_what_they_are(tmp_path: Path) -> None:
    source = "import pytest\ndef test_it(): pass\n@pytest.mark.xfail\ndef test_bug(): assert False\n"
    result = run(tmp_path, source, "all")
    assert result.returncode == pytest.ExitCode.OK
    assert "1 passed, 1 xfailed" in result.stdout
