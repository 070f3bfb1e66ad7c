# SPDX-License-Identifier: MIT OR Apache-2.0
"""An environment of Gymnasium: an agent chooses the clock that a workload's next part runs with, and is paid for saving energy in time.

    pip install tandem-sched gymnasium
    python governor_in_gymnasium.py

One step is one run of the workload with the governor `userspace` at the clock chosen. The observation is what the last step took.
"""

import gymnasium
import numpy
import tandem

CLOCKS_MHZ = [903, 1421, 1805, 2112, 2362]


class ClockChoice(gymnasium.Env):
    """Ten parts, each with a deadline that the highest clock meets with a fifth to spare."""

    def __init__(self, machine="hikey960", workload="forkjoin", parts=10):
        self.machine, self.workload, self.parts = tandem.machine(machine), tandem.workload(workload), parts
        self.action_space = gymnasium.spaces.Discrete(len(CLOCKS_MHZ))
        self.observation_space = gymnasium.spaces.Box(0.0, numpy.inf, (2,), numpy.float64)
        fastest = self._run(len(CLOCKS_MHZ) - 1, 0)
        self.deadline_s, self.energy_j = 1.25 * fastest.time_s, fastest.energy_j.total

    def _run(self, action, seed):
        return tandem.simulate(
            self.machine, self.workload, scheduler="fair", governor=f"userspace={CLOCKS_MHZ[action]}MHz", seed=seed
        )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.part = 0
        return numpy.array([1.0, 1.0]), {}

    def step(self, action):
        report = self._run(int(action), int(self.np_random.integers(1 << 31)))
        self.part += 1
        time, energy = report.time_s / self.deadline_s, report.energy_j.total / self.energy_j
        reward = -energy - (1.0 if time > 1.0 else 0.0)
        return numpy.array([time, energy]), reward, self.part == self.parts, False, {"report": report}


def main():
    environment = ClockChoice()
    for action, mhz in enumerate(CLOCKS_MHZ):
        environment.reset(seed=0)
        total, over = 0.0, False
        while not over:
            _, reward, over, _, _ = environment.step(action)
            total += reward
        print(f"{mhz} MHz: {total:.2f}")


if __name__ == "__main__":
    main()
