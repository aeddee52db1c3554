"""Proves that a run of a thousand processes grows nothing: no memory, no open files, no temporary files.

Usage: run_long_test.py STRICTBENCH [unittest arguments]
"""
import os
import re
import time

import fake_benchmark
import runner_testing

PROCESSES = 1000
SETTLED = 200  # processes after which nothing may grow any more


class RunLongTest(runner_testing.RunnerTestCase):
    def look(self, pid):
        """Resident kB, open files and CPU seconds of the runner."""
        with open(f"/proc/{pid}/status", encoding="utf-8") as stream:
            resident = int(re.search(r"VmRSS:\s+(\d+)", stream.read())[1])
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
            fields = stream.read().rsplit(")", 1)[1].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return resident, len(os.listdir(f"/proc/{pid}/fd")), seconds

    def test_a_thousand_processes_grow_nothing(self):
        log = fake_benchmark.install_quick(self.bin, "row_fold")
        temporary = self.path("tmp")
        os.mkdir(temporary)
        runner = self.start("--processes", str(PROCESSES), "--budget", "100000",
                            env={**os.environ, "TMPDIR": temporary})
        looks = []  # (processes so far, ...)
        while runner.poll() is None:
            try:
                with open(log, encoding="utf-8") as stream:
                    count = sum(1 for _ in stream)
                if count >= SETTLED and count < PROCESSES:
                    looks.append((count, *self.look(runner.pid)))
            except (FileNotFoundError, ProcessLookupError, TypeError):  # not begun, or ended meanwhile
                pass
            time.sleep(0.05)
        stdout, stderr = runner.communicate(timeout=60)
        self.assertEqual((runner.returncode, stderr), (0, ""), stdout[-2000:])
        self.assertEqual(len(os.listdir(self.out)), PROCESSES + 2)
        self.assertEqual(os.listdir(temporary), [])
        self.assertEqual(os.listdir(self.path("locks")), ["strictbench.cpu.lock"])

        self.assertGreater(len(looks), 20)
        early = [look for look in looks if look[0] < SETTLED + 200]
        late = [look for look in looks if look[0] > PROCESSES - 200]
        print(f"kB {max(look[1] for look in early)} to {max(look[1] for look in late)}, open files "
              f"{min(look[2] for look in early)} to {min(look[2] for look in late)}, "
              f"{1000 * looks[-1][3] / looks[-1][0]:.1f} ms of CPU a process", flush=True)
        self.assertLess(max(look[1] for look in late) - max(look[1] for look in early), 2048)
        # A look may fall on a file that is open for a moment; what leaks is open in every one.
        self.assertLessEqual(min(look[2] for look in late), min(look[2] for look in early))
        # What a process costs does not hang on how many there were before.
        per_process = [(group[-1][3] - group[0][3]) / (group[-1][0] - group[0][0]) for group in (early, late)]
        self.assertLess(per_process[1], 2 * per_process[0] + 0.002)


if __name__ == "__main__":
    runner_testing.main()
