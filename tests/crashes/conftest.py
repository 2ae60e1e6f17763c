"""What the tests of crashes share: helpers whose assertions are told in full."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("crashes.stories", "crashes.killing")
