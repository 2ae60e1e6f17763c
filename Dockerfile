# Server and hosts: `docker build -t leadhand .`, then see docs/how-to/deploy.md.
# uv resolves with the versions that pyproject.toml pins; the console is bundled while the package is built.
FROM python:3.13-slim AS build
ENV UV_PYTHON=/usr/local/bin/python UV_PROJECT_ENVIRONMENT=/opt/leadhand UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
# hadolint ignore=DL3013
RUN pip install --no-cache-dir uv
WORKDIR /source
COPY . .
# Providers of models besides OpenAI-compatible servers are extras; so are PostgreSQL, traces and web search.
ARG EXTRAS="postgres otel web anthropic google"
# The list of extras is split into words on purpose.
# hadolint ignore=SC2046
RUN uv sync --quiet --no-editable $(printf -- '--extra %s ' $EXTRAS)

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/leadhand leadhand
COPY --from=build /opt/leadhand /opt/leadhand
ENV PATH=/opt/leadhand/bin:$PATH LEADHAND_HOME=/var/lib/leadhand LEADHAND_LOG_FORMAT=json
USER 10001
WORKDIR /var/lib/leadhand
EXPOSE 8700
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8700/readyz', timeout=4)"]
ENTRYPOINT ["leadhand"]
CMD ["serve", "--host", "0.0.0.0"]
