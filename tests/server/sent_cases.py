"""Requests that schemathesis makes up for a route, and what the OpenAPI document says of their responses."""

# Schemathesis' types leave much unsaid:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeArgument=false
# pyright: reportUntypedFunctionDecorator=false, reportUnknownParameterType=false

from __future__ import annotations

import itertools
from collections.abc import Iterator
from copy import deepcopy

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.config import ChecksConfig, GenerationConfig, ProjectConfig, ProjectsConfig, SchemathesisConfig
from schemathesis.config._checks import PositiveDataAcceptanceConfig
from schemathesis.pytest.lazy import get_all_tests
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)
from server.doors import PATIENCE_S

from leadhand.server.app import routed

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    missing_required_header,
    unsupported_method,
    allow_header_conformance,
]
"""All of Schemathesis' checks of single responses. Its others are about sequences of requests, and about logging in."""
NO_KEYS = GenerationConfig(with_security_parameters=False)  # on this machine nobody needs one, and bad ones are refused
ACCEPTED = ["2xx", "3xx", "401", "403", "404", "409", "422", "429"]
"""Of what the document allows: 422, since some rules cannot be written in JSON Schema, such as printable text."""
RULES = ChecksConfig(positive_data_acceptance=PositiveDataAcceptanceConfig(expected_statuses=ACCEPTED))
SCHEMA = schemathesis.openapi.from_dict(
    deepcopy(routed().openapi()),
    config=SchemathesisConfig(projects=ProjectsConfig(default=ProjectConfig(generation=NO_KEYS, checks=RULES))),
)
EVEN = itertools.cycle([True, False])
SESSION = requests.Session()
"""One for all cases: looking for proxies and connecting take as long as most responses."""
SESSION.trust_env = False


def check_route(method: str, path: str, url: str, named: dict[str, Iterator[str]]) -> None:
    """Send the cases of one route to the server at ``url``. ``named``: what there is, by the name of a parameter."""
    [made] = get_all_tests(
        schema=SCHEMA.include(method=method, path=path), test_func=_is_answered, settings=None, given_kwargs=None
    )
    _, test = made.ok()
    test(url=url, named=named)


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
    case.validate_response(response, checks=CHECKS)
