"""Requests that schemathesis makes up for a route, and what the OpenAPI document says of their responses."""

# Schemathesis' types leave much unsaid:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeArgument=false
# pyright: reportUntypedFunctionDecorator=false, reportUnknownParameterType=false

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.config import GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi.checks import positive_data_acceptance
from server.doors import PATIENCE_S

load_all_checks()
ALL: Any = CHECKS.get_all()
"""What `schemathesis run --checks all` checks; what is about sequences of requests finds nothing to check here."""
EXCEPT = {"header.last-event-id": "Schemathesis counts the value 0 as valid, though its pattern refuses it"}
"""The fields that may be refused (422) in requests that are valid by the document, and why."""
NO_KEYS = GenerationConfig(with_security_parameters=False)  # on this machine nobody needs one, and bad ones are refused
CONFIG = SchemathesisConfig(projects=ProjectsConfig(default=ProjectConfig(generation=NO_KEYS)))
EVEN = itertools.cycle([True, False])
SESSION = requests.Session()
"""One for all cases: looking for proxies and connecting take as long as most responses."""
SESSION.trust_env = False


def check_route(method: str, path: str, url: str, named: dict[str, Iterator[str]]) -> None:
    """Send the cases of one route to the server at ``url``. ``named``: what there is, by the name of a parameter."""
    schema = _schema(url).include(method=method, path=path)
    [made] = get_all_tests(schema=schema, test_func=_is_answered, settings=None, given_kwargs=None)
    _, test = made.ok()
    test(url=url, named=named)


@cache
def _schema(url: str) -> Any:
    """The document as the server sends it, which says that nobody needs a key here."""
    return schemathesis.openapi.from_dict(SESSION.get(f"{url}/openapi.json").json(), config=CONFIG)


@settings(
    max_examples=settings.default.max_examples // 8,  # of each route: 6, or 125 in a search
    derandomize=settings.default.derandomize,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.function_scoped_fixture],
)
def _is_answered(case: Case, url: str, named: dict[str, Iterator[str]]) -> None:
    """Every other request is for something that is there."""
    parameters = case.path_parameters or {}
    if case.meta is not None and case.meta.generation.mode.is_positive and next(EVEN):
        for name in parameters:
            if name in named:
                parameters[name] = next(named[name])
    response = case.call(base_url=url, timeout=PATIENCE_S, session=SESSION)
    refused = {each["where"] for each in response.json().get("errors", ())} if response.status_code == 422 else set()
    left_out = [positive_data_acceptance] if refused and refused <= EXCEPT.keys() else []
    case.validate_response(response, checks=ALL, excluded_checks=left_out)
