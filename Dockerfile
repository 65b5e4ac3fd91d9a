# cmi in a container, for a CPU:
#   docker build -t cmi .
#   docker run --rm -v "$PWD:/data" cmi score take.wav --text "slow sad piano"
# For a GPU, with the build of torch for your driver (https://pytorch.org/get-started/locally):
#   docker build -t cmi-gpu --build-arg TORCH=cu130 .
#   docker run --rm --gpus all -v "$PWD:/data" cmi-gpu score take.wav --text "slow sad piano"
FROM python:3.11-slim AS build
ARG TORCH=cpu
ARG EXTRAS=reward,plots,studio,serve,bench
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
RUN python -m venv /opt/cmi \
    && /opt/cmi/bin/pip install --no-cache-dir -c constraints.txt \
        --extra-index-url "https://download.pytorch.org/whl/$TORCH" ".[$EXTRAS]"

FROM python:3.11-slim
COPY --from=build /opt/cmi /opt/cmi
RUN useradd --create-home --uid 1000 cmi && install -d -o cmi /data
ENV PATH="/opt/cmi/bin:$PATH" NVIDIA_DRIVER_CAPABILITIES=compute,utility
USER 1000
WORKDIR /data
ENTRYPOINT ["cmi"]
CMD ["--help"]
