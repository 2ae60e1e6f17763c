"""Every service can be pointed elsewhere, and asked no faster than it allows."""

from __future__ import annotations

import pytest

from leadhand.tools.services import SERVICES, ServiceUrls


def test_without_settings_the_public_services_are_asked() -> None:
    assert ServiceUrls.from_environment({}) == ServiceUrls()


@pytest.mark.parametrize(
    ("setting", "field"),
    [
        ("LEADHAND_OPEN_METEO_URL", "open_meteo"),
        ("LEADHAND_OPEN_METEO_GEOCODING_URL", "open_meteo_geocoding"),
        ("LEADHAND_VALHALLA_URL", "valhalla"),
        ("LEADHAND_OSRM_URL", "osrm"),
        ("LEADHAND_NOMINATIM_URL", "nominatim"),
        ("LEADHAND_PHOTON_URL", "photon"),
    ],
)
def test_a_setting_points_a_service_to_another_server(setting: str, field: str) -> None:
    urls = ServiceUrls.from_environment({setting: "http://localhost:1234/maps/"})
    assert getattr(urls, field) == "http://localhost:1234/maps"


def test_an_empty_setting_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEADHAND_OSRM_URL", "  ")
    assert ServiceUrls.from_environment() == ServiceUrls()


@pytest.mark.parametrize("service", ["nominatim", "photon", "valhalla", "osrm"])
def test_openstreetmap_services_are_asked_once_a_second(service: str) -> None:
    assert SERVICES[service].seconds_between == 1


def test_each_kind_of_answer_keeps_as_long_as_it_stays_true() -> None:
    kept = {name: rules.kept_s for name, rules in SERVICES.items()}
    assert kept["open-meteo"] == 15 * 60
    assert kept["open-meteo-geocoding"] == kept["nominatim"] == kept["photon"] == 30 * 86400
    assert kept["valhalla"] == kept["osrm"] == 86400


def test_the_setting_of_each_service_is_one_that_is_read() -> None:
    for rules in SERVICES.values():
        assert ServiceUrls.from_environment({rules.setting: "http://here"}) != ServiceUrls()
