FROM python:3.12-slim
WORKDIR /src
COPY . .
RUN python -m pip install --no-cache-dir -c constraints.txt '.[web,mcp,live]' && rm -rf /src
RUN useradd --create-home serveright
USER serveright
WORKDIR /home/serveright
ENTRYPOINT ["serveright"]
