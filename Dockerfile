# fadoctor as an image of its own: it looks at files that are mounted, and at the GPUs of the host
# where the container is given them. docs/releasing.md says how it is used.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels .

FROM python:3.13-slim-bookworm
# No index: what is installed is what the first stage made and fetched.
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels /wheels/fadoctor-*.whl \
 && useradd --uid 1000 --create-home fadoctor
USER 1000
WORKDIR /work
ENTRYPOINT ["fadoctor"]
CMD ["--help"]
