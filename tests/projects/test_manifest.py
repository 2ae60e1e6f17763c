"""The manifest of a project: what it sets, where it is found, and what a person reads if it is malformed."""

from __future__ import annotations

from pathlib import Path

import pytest

from leadhand.app.project.config_files import find_manifest
from leadhand.app.project.manifest import load_project
from leadhand.core.errors import ConfigurationError, UsageError

WORKER = "---\nname: {name}\n---\nDo it.\n"
WHOLE = """name = "support"
tools = ["tools.py"]
toolsets = ["dynamic_workers"]
worker_files = ["workers/*.worker"]
generated_workers_dir = "generated"
documents = "docs"

[models]
default = "offline"
review = "openai:gpt-5"

[limits]
max_workers = 4
timeout = 60

budget = 1
budget_per_day = 2.5

[approve]
"tool:send_*" = "auto"
"*" = "ask"

[stages.writer]
instructions = "Write short sentences."
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "workers").mkdir()
    (tmp_path / "docs").mkdir()
    (tmp_path / "tools.py").write_text("")
    for name in ("evaluator", "orchestrator"):
        (tmp_path / "workers" / f"{name}.worker").write_text(WORKER.format(name=name))
    (tmp_path / "leadhand.toml").write_text(WHOLE)
    return tmp_path


def test_a_manifest_sets_models_tools_workers_and_limits(project: Path) -> None:
    found = load_project(project)
    assert found.path == project / "leadhand.toml"
    assert found.manifest.models.review == "openai:gpt-5"
    assert found.manifest.limits.max_workers == 4
    assert found.manifest.limits.timeout == 60.0
    assert found.manifest.limits.budget_per_day == 2.5
    assert found.manifest.approve == {"tool:send_*": "auto", "*": "ask"}
    assert found.manifest.stages == {"writer": {"instructions": "Write short sentences."}}
    assert [(each.name, source) for source, each in found.workers.items()] == [
        ("evaluator", "workers/evaluator.worker"),
        ("orchestrator", "workers/orchestrator.worker"),
    ]
    assert found.generated_workers == project / "generated"
    assert found.located("tools.py") == str(project / "tools.py")
    assert found.located("package.tools") == "package.tools"


def test_a_manifest_is_found_upwards(project: Path) -> None:
    inner = project / "a" / "b"
    inner.mkdir(parents=True)
    assert find_manifest(inner) == project / "leadhand.toml"
    assert find_manifest(Path("/")) is None


def test_a_missing_manifest_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=str(tmp_path)):
        load_project(tmp_path)
    with pytest.raises(UsageError, match=r"other\.toml"):
        load_project(tmp_path / "other.toml")


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("name = support", 1, "TOML"),
        ('name = "a"\nname = "b"', 2, "TOML"),
        ('name = "a"\ntool = []', 2, "'tool'"),
        ("[limits]\nmax_worker = 3", 2, "'max_worker'"),
        ("[limits]\n\n# how many\nmax_workers = '3'", 4, "limits.max_workers: '3'"),
        ("limits.max_workers = 2.5", 1, "limits.max_workers: 2.5"),
        ("[limits]\nmax_workers = 0", 2, "limits.max_workers: 0"),
        ("[limits]\ntimeout = -5", 2, "limits.timeout: -5"),
        ("[limits]\nbudget = -1", 2, "limits.budget: -1"),
        ("[limits]\nbudget = inf", 2, ""),
        ("approve = 'always'", 1, "'always'"),
        ("[modles]\ndefault = 'x'", 1, "'modles'"),
        ("name = 2024-01-01", 1, ""),
        ("\nworker_files = ['workers/none.worker']", 2, "workers/none.worker"),
        ("\nworker_files = ['none/*.worker']", 2, "none/*.worker"),
        ("worker_files = ['tools.py']", 1, "tools.py"),
        ("\n\ntools = ['none.py']", 3, "none.py"),
        ("flows = ['none.py']", 1, "none.py"),
        ("agents = ['none.py:Checker']", 1, "none.py:Checker"),
        ("documents = 'none'", 1, "none"),
        ("generated_workers_dir = '../elsewhere'", 1, "generated_workers_dir"),
        ("generated_workers_dir = '.'", 1, "generated_workers_dir"),
        ("generated_workers_dir = '/tmp/x'", 1, "generated_workers_dir"),
        ('retention.keep_for = "30 days"', 1, "retention.keep_for: '30 days'"),
        ('tool_settings.x.rate = "often"', 1, "tool_settings.x.rate: 'often'"),
        ("tool_settings.x.cache = true", 1, "tool_settings.x.cache: True"),
        ('tools = "shop.py"', 1, "tools: 'shop.py'"),
        ("tools = [3]", 1, "tools.0: 3"),
        ("stages.writer = 3", 1, "stages.writer: 3"),
        ("[concurrency]\nproject = 5", 2, "project"),
        ("[concurrency]\nproject = 0", 2, "concurrency.project: 0"),
        ('[concurrency]\nmodels = {"gpt-5" = 8}', 2, "'gpt-5'"),
        ('[concurrency.models]\n"openai:gpt-5" = 0', 2, "concurrency.models"),
        ("[tool_settings.prices]\ncache = -1", 2, "-1"),
        ('[tool_settings.prices]\nspeed = "fast"', 2, "'speed'"),
        ('models.default = ""', 1, "models.default: ''"),
    ],
)
def test_a_malformed_manifest_is_refused_with_the_line_and_the_value(
    project: Path, text: str, line: int, named: str
) -> None:
    (project / "leadhand.toml").write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        load_project(project)
    assert refused.value.what.startswith(f"{project / 'leadhand.toml'}:{line}: "), refused.value.what
    assert named in refused.value.what
    assert refused.value.how


def test_a_fault_in_a_worker_file_names_that_file(project: Path) -> None:
    file = project / "workers" / "evaluator.worker"
    file.write_text("---\nname: evaluator\nmodle: x\n---\nDo it.")
    with pytest.raises(ConfigurationError) as refused:
        load_project(project)
    assert refused.value.what.startswith(f"{file}:3: ")


def test_two_files_cannot_define_one_worker(project: Path) -> None:
    (project / "more").mkdir()
    (project / "more" / "evaluator.worker").write_text(WORKER.format(name="evaluator"))
    (project / "leadhand.toml").write_text('worker_files = ["workers/*.worker",\n"more/evaluator.worker"]')
    with pytest.raises(ConfigurationError, match="evaluator"):
        load_project(project)
    (project / "leadhand.toml").write_text('worker_files = ["workers/*.worker", "workers/evaluator.worker"]')
    assert len(load_project(project).workers) == 2, "one file that is named twice is one worker"


def test_generated_workers_are_not_declared(project: Path) -> None:
    made = project / "generated" / "run_1"
    made.mkdir(parents=True)
    (made / "judge.worker").write_text(WORKER.format(name="judge"))
    assert "judge" not in [each.name for each in load_project(project).workers.values()]
    (project / "leadhand.toml").write_text('generated_workers_dir = "generated"\nworker_files = ["**/*.worker"]')
    with pytest.raises(ConfigurationError, match=r"judge\.worker"):
        load_project(project)
