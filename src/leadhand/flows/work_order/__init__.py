"""The work-order flow: plan, fan out, review, repair, and compose one answer."""
