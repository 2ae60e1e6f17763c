"""The work-order flow: plan, fan out, review, repair what fell short, compose one answer."""
