"""Benchmark executables for the tests of the runner: small programs that speak the protocol, and misbehave.

`install` writes one into a folder. Its behaviour is a dictionary inside the file, so that two behaviours are
two binaries; what is to change between two starts of one binary hangs on whether a file exists.
"""
import json
import os
import sys

TEMPLATE = r'''#!{python} -ES
import json, os, random, re, signal, sys, time
CONFIG = json.loads({config!r})
flags = dict(word.split("=", 1) if "=" in word else (word, "") for word in sys.argv[1:])
operator = CONFIG["operator"]
device = flags.get("--device", CONFIG.get("device", "cpu"))


def log(**entry):
    with open(CONFIG["log"], "a") as stream:
        stream.write(json.dumps(entry) + "\n")


def selected(case):
    pattern = flags.get("--benchmark_filter", "")
    return bool(re.search(pattern, case["name"])) and (case["gating"] or "timer:" in pattern)


cases = []
for variant in CONFIG.get("variants", ["legacy", "new"]):
    for timer in ("cpu", "wall"):
        shape = f"rows:64/cols:{{CONFIG.get('cols', {{}}).get(variant, 128)}}/dtype:fp32"
        cases.append({{"name": f"{{operator}}/{{variant}}/{{shape}}/timer:{{timer}}",
                      "variant": variant, "shape": shape, "timer": timer,
                      "gating": timer == "cpu", "bytes": 33280, "operations": 8192, "memory": 99840}})
for case in cases:
    case["selected"] = selected(case)
if "--cases" in flags:
    with open(flags["--cases"]) as stream:
        listed = stream.read().splitlines()
    for case in cases:
        case["selected"] = case["name"] in listed
if "--delays" in flags:
    delays = [float(word) for word in flags["--delays"].split(",")]
    cases = [dict(case, delay=delay, name=case["name"].replace("/rows:", f"+{{delay * 100:g}}%/rows:"))
             for case in cases for delay in delays]

if "--describe" in flags and CONFIG.get("log_describe"):
    log(operator=operator, describes=device)
if device == "cuda" and "gpu_name" not in CONFIG:
    sys.exit(print("--device cuda: no GPU here", file=sys.stderr) or 2)
if "--describe" in flags:
    if "describe" in CONFIG:
        print(CONFIG["describe"])
        sys.exit(0)
    answer = {{"operator": operator, "device": device, "build_type": CONFIG.get("build_type", "release"),
              "cases": cases}}
    if "gpu_name" in CONFIG and device != "cpu":
        answer["gpu_name"] = CONFIG["gpu_name"]
        if "gpu_uuid" in CONFIG:
            answer["gpu_uuid"] = CONFIG["gpu_uuid"]
    print(json.dumps(answer))
    sys.exit(0)

if "--kernels" in flags:
    log(operator=operator, kernels=flags, oracle=os.path.isdir(flags["--oracle-cache"]),
        measured=sorted(os.listdir(os.path.dirname(flags["--kernels"]))))
    behaviour = CONFIG.get("kernels", "ok") if os.path.exists(CONFIG.get("while_exists", "/")) else "ok"
    if behaviour == "hang":
        open(flags["--kernels"] + ".part", "w").close()
        time.sleep(60)
    if behaviour == "folder goes away":
        import shutil
        shutil.rmtree(os.path.dirname(flags["--kernels"]))
        sys.exit(1)
    if behaviour == "garbage":
        with open(flags["--kernels"], "w") as stream:
            stream.write("[")
    elif behaviour == "deep":
        with open(flags["--kernels"], "w") as stream:
            stream.write('{{"cases": [{{"name": "a", "error": ' + "[" * 300000 + "]" * 300000 + "}}]}}")
    elif behaviour.startswith("check failed:"):  # of the first case; the process itself may say nothing of it
        with open(flags["--kernels"], "w") as stream:
            json.dump({{"operator": operator, "cases": [dict(
                {{"name": case["name"], "calls": 0, "kernels": []}}, error=behaviour)
                for case in cases if case["selected"]]}}, stream)
    elif behaviour != "nothing":
        with open(flags["--kernels"], "w") as stream:
            json.dump({{"operator": operator, "context": {{"gpu_name": CONFIG["gpu_name"]}},
                       "cases": [{{"name": case["name"], "calls": 10,
                                  "kernels": [{{"name": case["variant"], "launches": 10, "total_ns": 10000,
                                               "min_ns": 900, "max_ns": 1100}}]}}
                                 for case in cases if case["selected"]]}}, stream)
    if behaviour == "exit 1":
        sys.exit(print("no kernels can be recorded: CUPTI says no", file=sys.stderr) or 1)
    sys.exit(0)

context = dict(pair.split("=") for pair in flags["--benchmark_context"].split(","))
index = int(context["process_index"])
log(operator=operator, process=index, pid=os.getpid(), ppid=os.getppid(), group=os.getpgid(0), flags=flags,
    blocked=sorted(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, [])),
    input=sys.stdin.read(), oracle=os.path.isdir(flags["--oracle-cache"]))
out = flags["--benchmark_out"]
behaviour = CONFIG.get("behaviour", "faults" if "faults" in CONFIG else "ok")
if not os.path.exists(CONFIG.get("while_exists", "/")) or index not in CONFIG.get("processes", [index]):
    behaviour = "ok"
if behaviour == "exit 3 at once":
    sys.exit(print("out of memory", file=sys.stderr) or 3)

if behaviour == "no rows":
    with open(out, "w") as stream:
        stream.write("{{}}")
    with os.fdopen(int(flags["--progress-fd"]), "w") as progress:
        name = next(case["name"] for case in cases if case["selected"])
        progress.write(json.dumps({{"case": name, "index": 0, "total": 1, "phase": "check"}}) + "\n")
    os.kill(os.getpid(), signal.SIGSEGV)
print("a console table that nobody reads")
stream = open(out, "w")
context.update(date="2026-11-29", build_type="release")
stream.write(json.dumps({{"context": context}}, indent=2)[:-2]
             + ',\n  "benchmarks": [\n')
progress = os.fdopen(int(flags["--progress-fd"]), "w")
measured = [case for case in cases if case["selected"]]
for number, case in enumerate(measured, start=1):
    for phase in CONFIG.get("phases", ["check", "measure"]):
        progress.write(json.dumps({{"case": case["name"], "index": number - 1, "total": len(measured),
                                   "phase": phase}}) + "\n")
    progress.flush()
    time.sleep(CONFIG.get("seconds", 0))
    # Noise is the same in every run of one build: a test that passes passes again.
    luck = random.Random(case["name"] + str(index) + CONFIG.get("luck", "")).gauss(0, 1)
    microseconds = (12.5 * CONFIG.get("factor", {{}}).get(case["variant"], 1)
                    * (1 + CONFIG.get("noise", {{}}).get(case["variant"], 0) * luck)) * (1 + case.get("delay", 0))
    row = {{"name": case["name"] + "/manual_time", "run_name": case["name"] + "/manual_time",
           "run_type": "iteration", "repetitions": 1, "iterations": 10, "real_time": microseconds, "cpu_time": 12.5,
           "time_unit": "us", "process_of_test": context["process_index"], "calls": 10,
           "delay_us": 12.5 * case.get("delay", 0)}}
    doing = behaviour if number == 2 else "ok"
    if behaviour == "faults":
        doing = CONFIG["faults"].get(case["variant"], "ok")
    if doing != "ok":
        if doing == "error row":
            row.update(error_occurred=True, error_message="launch failed: no image", real_time=0)
        elif doing == "check failed":
            row.update(error_occurred=True, real_time=0,
                       error_message="check failed: index 7 is 3f800000, should be 40000000; 1 differs")
        elif doing == "skipped":
            row.update(skipped=True, skip_message="needs 3.7 GB, 1.0 GB free")
        elif doing == "zero":
            row.update(real_time=0.0)
        elif doing == "nan":
            row.update(real_time=float("nan"))
        elif doing == "missing row":
            continue
        elif doing.startswith("SIG"):
            stream.write(",\n    {{\n      \"name\": \"half a r")
            stream.flush()
            sys.stderr.write("".join(f"line {{i}}\n" for i in range(40)) + "illegal address \xff\n")
            sys.stderr.flush()
            os.kill(os.getpid(), getattr(signal, doing))
        elif doing == "hang":
            stream.flush()
            for name in ("SIGTERM", "SIGINT", "SIGHUP"):
                signal.signal(getattr(signal, name), signal.SIG_IGN)
            grandchild = os.fork()
            if grandchild == 0:
                time.sleep(60)
                os._exit(0)
            log(operator=operator, process=index, hangs=os.getpid(), grandchild=grandchild)
            time.sleep(60)
        elif doing == "exit 0":
            stream.flush()
            os._exit(0)
        elif doing == "chatter":
            while True:
                os.write(1, b"x" * 65536)
    text = json.dumps(row, indent=2).replace("\n", "\n    ")
    stream.write(("" if number == 1 else ",\n") + "    " + text)
if behaviour == "run.json cannot be written":
    os.makedirs(os.path.join(os.path.dirname(out), "run.json.tmp", "in the way"))
if behaviour == "summary cannot be written":
    os.makedirs(os.path.join(os.path.dirname(out), "summary.json", "in the way"))
if behaviour == "folder goes away":
    import shutil
    shutil.rmtree(os.path.dirname(out))
if behaviour == "folder is exchanged":  # for that of another run, which is at the same process
    os.rename(os.path.dirname(out), os.path.dirname(out) + ".before")
    cache = flags["--oracle-cache"]
    os.makedirs(cache)
    for theirs in (out, os.path.join(os.path.dirname(out), "run.json"), os.path.join(cache, "theirs")):
        with open(theirs, "w") as another:
            another.write("theirs")
if behaviour == "folder is emptied":
    import shutil
    for name in os.listdir(os.path.dirname(out)):
        path = os.path.join(os.path.dirname(out), name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
if behaviour != "cut short":
    stream.write("\n  ]\n}}\n")
stream.close()
if behaviour == "leaves a child behind":
    grandchild = os.fork()
    if grandchild == 0:
        time.sleep(60)
        os._exit(0)
    log(operator=operator, process=index, grandchild=grandchild)
if behaviour == "exit 1 at the end":
    sys.exit(print("cannot tear down", file=sys.stderr) or 1)
'''


def install(folder, operator, **config):
    """Writes `bench_<operator>` into `folder`; returns the path of the log of its starts."""
    log = config.setdefault("log", os.path.join(folder, "calls.log"))
    config.update(operator=operator)
    path = os.path.join(folder, "bench_" + operator)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(TEMPLATE.format(python=sys.executable, config=json.dumps(config)))
    os.chmod(path, 0o755)
    return log


QUICK = r'''#!/bin/sh
# A benchmark executable that starts in a millisecond and behaves: for runs of very many processes.
out= index= describe=
for word; do
  case "$word" in
    --describe) describe=yes ;;
    --benchmark_out=*) out=${word#*=} ;;
    --benchmark_context=process_index=*) index=${word#*process_index=} index=${index%%,*} ;;
  esac
done
name() { printf "OPERATOR/$1/rows:64/cols:128/dtype:fp32/timer:cpu"; }
if [ "$describe" ]; then
  printf '{"operator": "OPERATOR", "device": "cpu", "build_type": "release", "cases": ['
  for variant in legacy new; do
    printf '%s{"name": "%s", "variant": "%s", "shape": "rows:64/cols:128/dtype:fp32", "timer": "cpu",' \
      "$comma" "$(name $variant)" $variant
    printf ' "gating": true, "selected": true}'
    comma=,
  done
  echo ']}'
  exit
fi
echo "OPERATOR $index $$ $out" >> 'LOG'
printf '{"context": {"date": "2026-11-29", "build_type": "release", "process_index": "%s"},' "$index" > "$out"
printf '"benchmarks": [' >> "$out"
for variant in legacy new; do
  printf '{"case": "%s", "index": 0, "total": 2, "phase": "check"}\n' "$(name $variant)" >&3
  PAUSE
  printf '%s{"name": "%s/manual_time", "run_name": "%s/manual_time", "run_type": "iteration", "repetitions": 1,' \
    "$comma" "$(name $variant)" "$(name $variant)" >> "$out"
  printf ' "iterations": 10, "real_time": 12.5%s, "cpu_time": 12.5, "time_unit": "us"}' "$index" >> "$out"
  comma=,
done
echo ']}' >> "$out"
'''


def install_quick(folder, operator, seconds=0):
    """The same for a fake that only behaves, but starts at once; returns the path of its log: operator, process,
    pid and result file of each start, a line each."""
    log = os.path.join(folder, "quick.log")
    path = os.path.join(folder, "bench_" + operator)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(QUICK.replace("OPERATOR", operator).replace("LOG", log)
                     .replace("PAUSE", f"sleep {seconds}" if seconds else ":"))
    os.chmod(path, 0o755)
    return log
