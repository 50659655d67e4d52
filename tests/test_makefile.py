"""Which setup steps `make` runs, on a copy of the Makefile with quick stand-ins for the tools.

The real tools take minutes and the network; each stand-in logs its call and creates what the real one creates.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CONTRACTS = "mayavi/worlds/contracts"
NODES = [f"contracts/node_modules/{name}/package.json" for name in ("@foundry-rs/anvil", "hardhat")]
REPORT = "mayavi/report/npm"
STAND_INS = {
    "python": """
case "$*" in
*mayavi\\ setup*)
  mkdir -p contracts/build contracts/node_modules
  for source in mayavi/worlds/contracts/vyper/[A-Z]*.vy; do
    echo {} >contracts/build/$(basename $source .vy).0123.json; done
  for name in @aave/core-v3 @aave/protocol-v2 @openzeppelin/contracts \\
      @uniswap/v3-core @uniswap/v3-periphery canonical-weth; do
    mkdir -p contracts/node_modules/$name; echo {} >contracts/node_modules/$name/package.json; done
  plotly=contracts/report/node_modules/plotly.js-cartesian-dist-min axe=contracts/report/node_modules/axe-core
  mkdir -p $plotly; echo {} >$plotly/package.json
  case "$*" in *--node*) mkdir -p $axe; echo {} >$axe/package.json; for name in @foundry-rs/anvil hardhat; do
    mkdir -p contracts/node_modules/$name; echo {} >contracts/node_modules/$name/package.json; done;; esac;;
*pip*rl-requirements.txt) echo >.venv/bin/tensorboard;; esac
""",
    "maturin": """
echo "$VIRTUAL_ENV $CONDA_PREFIX" >environment
echo kernel >mayavi/_kernel.abi3.so; echo >.venv/bin/mayavi; chmod +x .venv/bin/mayavi
""",
    "node": "echo v22.12.0",
    "npm": """
case "$*" in
*site\\ ci*) mkdir -p tools/site/node_modules/@mermaid-js/tiny
  echo {} >tools/site/node_modules/@mermaid-js/tiny/package.json;;
ci*) mkdir -p node_modules/.bin; touch node_modules/.bin/vite node_modules/.bin/biome;;
*build) mkdir -p ../mayavi/api/dashboard; echo >../mayavi/api/dashboard/index.html;; esac
""",
    **dict.fromkeys(["cargo", "ruff", "mypy", "lint-imports", "stubtest", "actionlint"], "echo 'cargo 1.99.0'"),
    "chromium": "",
}
STEPS = {
    "pip install --quiet -c constraints.txt -r .venv/.stamps/rl-requirements.txt": "rl",
    "maturin": "kernel",
    "mayavi setup": "contracts",
    "npm --prefix tools/site ci": "diagrams",
    "npm ci": "web packages",
    "npm run --silent build": "dashboard",
}
WEB = ["web packages", "dashboard"]


class Checkout:
    """A checkout that was never set up, but for the virtual environment itself."""

    def __init__(self, root: Path, original: Path) -> None:
        self.root = root
        for name in [
            "Makefile",
            "pyproject.toml",
            "constraints.txt",
            "tools",
            CONTRACTS,
            REPORT,
            ".github",
            "web/package.json",
            "web/package-lock.json",
        ]:
            source, target = original / name, root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("node_modules"))
            else:
                shutil.copy(source, target)
        for folder in ["kernel/src", "web/src", ".venv/.stamps"]:
            (root / folder).mkdir(parents=True)
        for name in ["kernel/Cargo.toml", "kernel/Cargo.lock", "kernel/src/lib.rs", "web/src/main.tsx"]:
            (root / name).touch()
        self.bin = root / ".venv/bin"
        self.bin.mkdir()
        for name, body in STAND_INS.items():
            (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{root}/ran"\n{body}\n')
            (self.bin / name).chmod(0o755)
        (root / ".venv/.stamps/venv").touch()

    def make(self, *goals: str) -> list[str]:
        """Run `make`; gives the steps of the set-up that ran, in their order."""
        log = self.root / "ran"
        log.write_text("")
        # Not what another `make` says that runs these tests: `make test WORKERS=4`.
        env = {name: value for name, value in os.environ.items() if not name.startswith("MAKE") and name != "WORKERS"}
        finished = subprocess.run(["make", *goals], cwd=self.root, env=env, capture_output=True, text=True, check=False)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        lines = log.read_text().splitlines()
        return [step for line in lines for mark, step in STEPS.items() if mark in line]

    def has(self, name: str) -> bool:
        return any(self.root.glob(name))

    def remove(self, name: str) -> None:
        path = self.root / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture
def checkout(tmp_path: Path, repository: Path) -> Checkout:
    return Checkout(tmp_path / "checkout", repository)


def test_the_set_up_does_every_step_once(checkout: Checkout) -> None:
    assert checkout.make("setup") == ["kernel", "contracts", *WEB]
    assert checkout.make("setup") == []


def test_the_kernel_is_installed_here_whatever_environment_the_shell_has_activated(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", "/elsewhere")
    monkeypatch.setenv("CONDA_PREFIX", "/conda")
    checkout.make("setup")
    assert (checkout.root / "environment").read_text().split() == [str(checkout.root / ".venv")]


def test_the_set_up_compiles_the_package_where_python_writes_no_bytecode(checkout: Checkout) -> None:
    checkout.make("setup")
    assert "python -m compileall -q mayavi" in (checkout.root / "ran").read_text()


@pytest.mark.slow(0.3)
def test_all_tests_have_a_worker_more_than_cores_unless_told_otherwise(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # which `nproc` would answer
    cores = len(os.sched_getaffinity(0))
    for given, workers in (
        (["test"], min(cores + 1, 8)),
        (["test-fast"], min(cores + 1, 8)),
        (["test", "WORKERS=5"], 5),
    ):
        checkout.make(*given)
        assert f"-m pytest -n {workers} " in (checkout.root / "ran").read_text()


def test_every_check_runs_once_and_none_before_the_set_up_is_done(checkout: Checkout) -> None:
    assert checkout.make("check") == ["kernel", "contracts", *WEB, "rl"]
    ran = (checkout.root / "ran").read_text().splitlines()
    last_step = max(at for at, line in enumerate(ran) if any(mark in line for mark in STEPS))
    checks = [
        *(
            "mypy ",
            "stubtest --mypy-config-file tools/stubtest.ini mayavi._kernel",
            "lint-imports ",
            "ruff check .",
            "ruff format --check .",
        ),
        *("cargo fmt", "cargo clippy", "npm run --silent check"),
    ]
    for check in checks:
        (at,) = (at for at, line in enumerate(ran) if line.startswith(check))
        assert at > last_step


@pytest.mark.slow(0.3)
@pytest.mark.parametrize(
    ("gone", "steps"),
    [
        ("mayavi/_kernel.abi3.so", ["kernel"]),
        ("contracts/node_modules", ["contracts"]),
        ("contracts/node_modules/@aave/core-v3", ["contracts"]),
        ("contracts/node_modules/canonical-weth/package.json", ["contracts"]),
        ("contracts/build", ["contracts"]),
        ("contracts/report", ["contracts"]),
        ("contracts/build/Token.0123.json", ["contracts"]),
        ("web/node_modules", WEB),
        ("mayavi/api/dashboard", ["dashboard"]),
    ],
)
def test_the_set_up_mends_what_was_removed_and_nothing_else(checkout: Checkout, gone: str, steps: list[str]) -> None:
    checkout.make("setup")
    checkout.remove(gone)
    assert checkout.make("setup") == steps
    assert checkout.has(gone)
    assert checkout.make("setup") == []


@pytest.mark.slow(0.4)
def test_the_nodes_are_installed_for_the_tests_alone(checkout: Checkout) -> None:
    checkout.make("setup")
    assert not any(map(checkout.has, NODES))
    assert checkout.make("test") == ["contracts", "rl", "diagrams"]
    assert all(map(checkout.has, NODES))
    assert checkout.make("test") == []


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("goal", ["rl", "test", "test-fast", "check"])
def test_the_packages_that_train_policies_are_installed_where_they_are_needed_alone(
    checkout: Checkout, goal: str
) -> None:
    assert "rl" not in checkout.make("demo")
    assert "rl" in checkout.make(goal)
    assert "rl" not in checkout.make(goal)
    checkout.remove(".venv/bin/tensorboard")
    assert checkout.make(goal) == ["rl"]


@pytest.mark.slow(0.4)
def test_tests_of_the_kernel_are_built_when_its_sources_change_and_run_before_others(checkout: Checkout) -> None:
    build = "cargo test --quiet --no-run --manifest-path kernel/Cargo.toml --lib --locked"
    run = "cargo test --quiet --manifest-path kernel/Cargo.toml --lib --locked"

    def ran(goal: str) -> list[str]:
        checkout.make(goal)
        lines = (checkout.root / "ran").read_text().splitlines()
        wanted = {build: "build", run: "run", "cargo clippy": "checks", "python -m pytest": "all tests"}
        return [name for line in lines for start, name in wanted.items() if line.startswith(start)]

    assert ran("test") == ["build", "checks", "run", "all tests"]
    assert ran("test") == ["checks", "run", "all tests"]
    (checkout.root / "kernel/src/lib.rs").touch()
    assert ran("test-kernel") == ["build", "run"]
    assert ran("test-kernel") == ["run"]
    assert ran("test-fast") == ["all tests"]


@pytest.mark.slow(0.5)
def test_nodes_that_are_there_stay_when_the_packages_are_installed_again(checkout: Checkout) -> None:
    checkout.make("test")
    assert checkout.make("setup") == []
    (checkout.root / CONTRACTS / "package.json").touch()
    assert checkout.make("setup") == ["contracts"]
    assert all(map(checkout.has, NODES))
    assert checkout.make("test") == ["contracts"]
    assert checkout.make("test") == []


@pytest.mark.slow(0.4)
@pytest.mark.parametrize("gone", ["contracts/node_modules", *NODES])
def test_the_tests_bring_back_a_node_that_was_removed(checkout: Checkout, gone: str) -> None:
    checkout.make("test")
    checkout.remove(gone)
    assert checkout.make("test") == ["contracts"]
    assert all(map(checkout.has, NODES))


class TestChromium:
    """`tools/chromium` on a machine with a few programs and, where a test says so, with apt."""

    @pytest.fixture
    def machine(self, tmp_path: Path) -> Path:
        place = tmp_path / "bin"
        place.mkdir()
        for name in ("bash", "id", "env"):
            program = shutil.which(name)
            assert program is not None
            (place / name).symlink_to(program)
        return place

    def add(self, machine: Path, name: str, body: str) -> None:
        (machine / name).unlink(missing_ok=True)
        (machine / name).write_text(f"#!/bin/sh\n{body}\n")
        (machine / name).chmod(0o755)

    def find(self, machine: Path, repository: Path, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [repository / "tools/chromium"],
            env={"PATH": str(machine), **variables},
            capture_output=True,
            text=True,
            check=False,
        )

    def test_one_that_is_there_is_named(self, machine: Path, repository: Path) -> None:
        self.add(machine, "google-chrome", "")
        found = self.find(machine, repository)
        assert (found.returncode, found.stdout, found.stderr) == (0, f"{machine}/google-chrome\n", "")

    def test_the_one_without_windows_comes_first(self, machine: Path, repository: Path) -> None:
        for name in ("chromium", "chromium-headless-shell"):
            self.add(machine, name, "")
        assert self.find(machine, repository).stdout == f"{machine}/chromium-headless-shell\n"

    @pytest.mark.parametrize("package", ["chromium-headless-shell", "chromium"])
    def test_root_installs_it_by_apt(self, machine: Path, repository: Path, package: str) -> None:
        self.add(machine, "id", "echo 0")
        program = machine / package
        install = f"echo '#!/bin/sh' >{program} && /bin/chmod 755 {program}"
        wanted = f'case "$*" in install*" {package}") {install} ;; install*) exit 100 ;; esac'
        self.add(machine, "apt-get", wanted)
        found = self.find(machine, repository)
        assert (found.returncode, found.stdout) == (0, f"{program}\n")
        assert found.stderr == "installing Chromium by apt\n"

    @pytest.mark.parametrize(
        ("user", "apt", "why"),
        [("0", None, "this machine has no apt"), ("1000", "exit 0", "only root may"), ("0", "exit 1", "cannot fetch")],
    )
    def test_where_it_cannot_be_installed_the_reason_is_said(
        self, machine: Path, repository: Path, user: str, apt: str | None, why: str
    ) -> None:
        self.add(machine, "id", f"echo {user}")
        if apt:
            self.add(machine, "apt-get", apt)
        found = self.find(machine, repository)
        assert (found.returncode, found.stdout) == (0, "")
        assert why in found.stderr
        assert "tests in a browser are skipped" in found.stderr

    def test_a_wrong_name_is_refused(self, machine: Path, repository: Path) -> None:
        self.add(machine, "chromium", "")
        found = self.find(machine, repository, MAYAVI_CHROMIUM="chronium")
        assert (found.returncode, found.stdout) == (1, "")
        assert "MAYAVI_CHROMIUM names 'chronium'" in found.stderr

    @pytest.mark.slow(0.3)
    def test_all_tests_look_for_it_and_the_fast_ones_do_not(self, checkout: Checkout) -> None:
        look = checkout.root / "tools/chromium"
        look.write_text(f'#!/bin/sh\necho chromium >>"{checkout.root}/ran"\n')
        checkout.make("test")
        assert "chromium\n" in (checkout.root / "ran").read_text()
        checkout.make("test-fast")
        assert "chromium\n" not in (checkout.root / "ran").read_text()


@pytest.mark.slow(0.3)
def test_a_kernel_that_does_not_load_is_built_anew_after_a_clean(checkout: Checkout) -> None:
    checkout.make("setup")
    (checkout.root / "mayavi/_kernel.abi3.so").write_text("damaged")
    assert checkout.make("clean", "setup") == ["kernel", "contracts", "dashboard"]
    assert (checkout.root / "mayavi/_kernel.abi3.so").read_text() == "kernel\n"


def test_a_change_of_the_kernel_builds_it_again(checkout: Checkout) -> None:
    checkout.make("setup")
    (checkout.root / "kernel/src/lib.rs").touch()
    assert checkout.make("setup") == ["kernel"]


@pytest.mark.parametrize(("changed", "steps"), [("web/src/main.tsx", ["dashboard"]), ("web/package-lock.json", WEB)])
def test_a_change_of_the_dashboard_builds_it_again(checkout: Checkout, changed: str, steps: list[str]) -> None:
    checkout.make("setup")
    stamp, source = checkout.root / ".venv/.stamps/web", checkout.root / changed
    while source.stat().st_mtime_ns <= stamp.stat().st_mtime_ns:  # the clock of files may be coarse
        source.touch()
    assert checkout.make("demo") == steps
    assert checkout.make("setup") == []


def test_a_check_of_the_dashboard_installs_its_packages_and_builds_nothing(checkout: Checkout) -> None:
    assert checkout.make("check-web") == ["web packages"]
    assert "npm run --silent check" in (checkout.root / "ran").read_text()


def test_a_check_says_beforehand_that_the_first_one_takes_long(checkout: Checkout) -> None:
    checkout.make("setup")
    listed = subprocess.run(
        ["make", "check-kernel"], cwd=checkout.root, capture_output=True, text=True, check=True
    ).stdout
    assert "clippy (the first time compiles every dependency and takes some minutes)" in listed
