# Thin front of CMake and the scripts; see README.md.
.PHONY: build demo demo-stop test test-pod bench crash-matrix lint format clean

build:
	@deploy/local/packages
	@cmake --preset release >/dev/null && cmake --build --preset release --target programs

demo:
	@deploy/local/demo

demo-stop:
	@deploy/local/demo-stop

test:
	@tests/run

test-pod:
	@deploy/local/packages && deploy/local/node/build >/dev/null && tests/run pod

bench:
	@tests/bench/run

crash-matrix: build
	@deploy/local/build >/dev/null && python3 -B tests/cluster/crash_matrix.py

lint:
	@deploy/local/packages
	@tests/style/lint

format:
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	@rm -rf build
