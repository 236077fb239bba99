# Each target does its own set-up in .venv. Needs Python 3.11 or newer with venv, and g++.
PYTHON ?= python3
BIN := .venv/bin
REPORT ?= report

.PHONY: help compare test lint report clean

help:
	@echo "make compare   prove, measure and compare the workloads; report in $(REPORT)/"
	@echo "make test      run all tests"
	@echo "make lint      ruff and mypy"
	@echo "make report    the report alone, out of the records there are"
	@echo "make clean     remove .venv, caches and builds (records stay)"

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

compare: .venv/ready
	$(BIN)/gatewarp verify track
	$(BIN)/gatewarp build track --implementation hls/track/da4ml --board ulx3s-85f --reuse
	$(BIN)/gatewarp measure track --device opencl --batch 1 --batch 64 --batch 4096 --batch 65536 --seconds 1
	$(BIN)/gatewarp verify bcnn --case digits --samples 500
	$(BIN)/gatewarp build bcnn --case digits --board ulx3s-85f --reuse
	$(BIN)/gatewarp measure bcnn --device opencl --case digits --batch 1 --batch 64 --batch 4096 --seconds 1
	$(BIN)/gatewarp verify deconv --case digits --samples 64
	$(BIN)/gatewarp build deconv --case digits --board ulx3s-85f --implementation designs/deconv/reverse_loop --reuse
	$(BIN)/gatewarp measure deconv --device opencl --case digits --batch 1 --batch 64 --seconds 1
	$(BIN)/gatewarp verify md --case nist
	$(BIN)/gatewarp measure md --device opencl --case lj864 --batch 10 --batch 100 --seconds 1
	$(BIN)/gatewarp compare --out $(REPORT)

test: .venv/ready
	$(BIN)/python -m pytest -n 2 --dist loadfile

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

report: .venv/ready
	$(BIN)/gatewarp compare --out $(REPORT)

clean:
	rm -rf .venv .cache build $(REPORT)
