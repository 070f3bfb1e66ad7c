# SPDX-License-Identifier: MIT OR Apache-2.0
"""Settings of a scheduler that use less energy at little cost in time, searched by Optuna.

    pip install tandem-sched optuna
    python tune_with_optuna.py [TRIALS]

`tandem tune` does this without Python, and says how sure the gain is; with Optuna the search is yours.
"""

import sys

import optuna
import tandem


def measured(**settings):
    """Time and energy of a few runs."""
    comparison = tandem.compare("forkjoin", "hikey960", "tandem", runs=3, alone=False, **settings)
    means = {row["metric"]: row["mean"] for row in comparison.table.to_dicts()}
    return means["time_s"], means["energy_j"]


def main(trials):
    base_time, base_energy = measured()

    def objective(trial):
        time, energy = measured(
            hz=trial.suggest_categorical("hz", [100, 250, 1000]),
            base_slice_us=trial.suggest_int("base_slice_us", 500, 20000, log=True),
        )
        # More than 2 % of time is too much.
        return energy / base_energy + max(0, time / base_time - 1.02)

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    study.optimize(objective, n_trials=trials)
    print(f"{study.best_value:.4f} of the energy with {study.best_params}")
    return study


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
