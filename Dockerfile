# The wheel is built in one stage and installed in another: the image holds no sources and no build tools.
FROM python:3.12-slim AS build
WORKDIR /src
COPY . .
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
COPY constraints.txt /tmp/constraints.txt
COPY --from=build /wheels /wheels
RUN python -m pip install --no-cache-dir -c /tmp/constraints.txt "$(ls /wheels/*.whl)[web,mcp,live,place]" && rm -rf /wheels /tmp/constraints.txt
RUN useradd --create-home serveright
USER serveright
WORKDIR /home/serveright
ENTRYPOINT ["serveright"]
