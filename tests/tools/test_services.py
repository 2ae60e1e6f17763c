"""Every service can be pointed elsewhere, and is asked no faster than it allows."""

from __future__ import annotations

import pytest

from leadhand.tools.services import SERVICES, ServiceUrls


@pytest.mark.parametrize("name", SERVICES)
def test_a_setting_points_a_service_to_another_server(name: str) -> None:
    setting, field = SERVICES[name].setting, name.replace("-", "_")
    assert ServiceUrls.from_environment({setting: "http://localhost/maps/"}) == ServiceUrls(
        **{field: "http://localhost/maps"}
    )
    assert ServiceUrls.from_environment({setting: "  "}) == ServiceUrls()


@pytest.mark.parametrize("name", ["nominatim", "photon", "valhalla", "osrm"])
def test_openstreetmap_is_asked_once_a_second_and_its_answers_are_kept(name: str) -> None:
    assert SERVICES[name].seconds_between == 1
    assert SERVICES[name].kept_s >= 86_400
