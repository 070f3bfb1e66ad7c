// SPDX-License-Identifier: MIT OR Apache-2.0
// Lanes of threads instead of CPUs: when each ran, on which CPU, and when it waited for one.

/** Most threads that have a lane: those with the most CPU time. */
const MOST_LANES = 48;
/** How a slice "ended" that is none: the thread waited for a CPU. */
export const WAITED = 4;

/** The lanes of the busiest threads, in their own order, of the lanes of CPUs. */
export function threadLanes(lanes, threads) {
  const [count, time] = [new Uint32Array(threads.length), new Float64Array(threads.length)];
  for (const { slices } of lanes) {
    for (let index = 0; index < slices.count; index++) {
      const thread = slices.thread[index];
      count[thread] += slices.waited[index] > 0 ? 2 : 1;
      time[thread] += slices.length[index];
    }
  }
  const busiest = [...threads.keys()].filter((thread) => count[thread] > 0).sort((one, other) => time[other] - time[one]).slice(0, MOST_LANES);
  const gathered = gather(lanes, new Set(busiest), count);
  return busiest.sort((one, other) => one - other).map((thread) => ({ number: null, thread, label: threads[thread].name || `thread ${thread}`, slices: ordered(gathered.get(thread)) }));
}

/** The slices and waits of each of these threads, CPU by CPU. */
function gather(lanes, wanted, count) {
  const gathered = new Map([...wanted].map((thread) => [thread, empty(count[thread])]));
  for (const { number, slices } of lanes) {
    const { start, length, thread, left, waited } = slices;
    for (let index = 0; index < slices.count; index++) {
      const own = gathered.get(thread[index]);
      if (!own) continue;
      if (waited[index] > 0) put(own, start[index] - waited[index], waited[index], thread[index], WAITED, 0, number);
      put(own, start[index], length[index], thread[index], left[index], waited[index], number);
    }
  }
  return gathered;
}

function empty(count) {
  const numbers = () => new Float64Array(count);
  return { count: 0, start: numbers(), length: numbers(), thread: new Uint32Array(count), left: new Uint8Array(count), waited: numbers(), cpu: new Uint32Array(count) };
}

function put(own, start, length, thread, left, waited, cpu) {
  const at = own.count++;
  own.start[at] = start;
  own.length[at] = length;
  own.thread[at] = thread;
  own.left[at] = left;
  own.waited[at] = waited;
  own.cpu[at] = cpu;
}

/** The same in order of time. */
function ordered(own) {
  const order = Uint32Array.from({ length: own.count }, (_, index) => index).sort((one, other) => own.start[one] - own.start[other]);
  const sorted = empty(own.count);
  for (const index of order) put(sorted, own.start[index], own.length[index], own.thread[index], own.left[index], own.waited[index], own.cpu[index]);
  return sorted;
}
