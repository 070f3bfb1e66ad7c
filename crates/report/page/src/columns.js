// SPDX-License-Identifier: MIT OR Apache-2.0
// Reads the columns that crates/report/src/timeline/pack.rs writes.

/** The bytes of an element with base64. */
function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Reads numbers of seven bits a byte, the lowest first. */
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  /** `count` numbers into `into`. */
  numbers(count, into) {
    const { bytes } = this;
    let at = this.at;
    for (let index = 0; index < count; index++) {
      let byte = bytes[at++];
      let value = byte & 0x7f;
      // Up to 28 bits by shifts, which are fast; more by multiplication, which is exact up to 2^53.
      let shift = 7;
      while (byte >= 0x80 && shift < 28) {
        byte = bytes[at++];
        value |= (byte & 0x7f) << shift;
        shift += 7;
      }
      let factor = 2 ** 28;
      while (byte >= 0x80) {
        byte = bytes[at++];
        value += (byte & 0x7f) * factor;
        factor *= 128;
      }
      into[index] = value;
    }
    this.at = at;
    return into;
  }

  /** Times, written as differences. */
  times(count) {
    const times = this.numbers(count, new Float64Array(count));
    for (let index = 1; index < count; index++) times[index] += times[index - 1];
    return times;
  }

  floats(count) {
    const copy = this.bytes.slice(this.at, this.at + count * 4);
    this.at += count * 4;
    return new Float32Array(copy.buffer, 0, count);
  }

  levels(count) {
    const at = this.times(count);
    return { at, value: this.numbers(count, new Float64Array(count)) };
  }

  power({ count, width }) {
    const at = this.times(count);
    return { at, value: this.floats(count), width };
  }

  slices(count) {
    const start = this.numbers(count, new Float64Array(count));
    const length = this.numbers(count, new Float64Array(count));
    const thread = this.numbers(count, new Uint32Array(count));
    const left = this.numbers(count, new Uint8Array(count));
    const waited = this.numbers(count, new Float64Array(count));
    let end = 0;
    for (let index = 0; index < count; index++) {
      start[index] += end;
      end = start[index] + length[index];
    }
    return { count, start, length, thread, left, waited };
  }
}

/** The columns of a timeline: by CPU slices, clock, idle states and power; the power of packages. */
export async function columns(text, counts) {
  const reader = new Reader(await inflated(bytesOf(text)));
  const cpus = counts.cpus.map((cpu) => ({
    slices: reader.slices(cpu.slices),
    khz: reader.levels(cpu.khz),
    idle: reader.levels(cpu.idle),
    watts: reader.power(cpu.watts),
  }));
  return { cpus, packages: counts.packages.map((power) => reader.power(power)) };
}

/** Index of the first of ascending numbers that is more than `value`. */
export function upper(values, value, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
