import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { joinedState, storedState, type StoredState } from './state.pieces.js';

type Hosts = Readonly<Record<string, unknown>>;
const hostsOf = (count: number): Hosts =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`w-${at}`, { at, ready: false }]));
const stateOf = (hosts: Hosts, more: object = {}) => ({ seq: 1, state: { cluster: { uid: 'u', hosts, ...more } } });

/** The content of a database after the writes so far, as JSON. */
class Stored {
  private doc: unknown;
  private readonly pieces = new Map<string, unknown>();

  write({ doc, changed, gone }: StoredState): void {
    this.doc = JSON.parse(JSON.stringify(doc));
    for (const { path, doc: piece } of changed) this.pieces.set(path, JSON.parse(JSON.stringify(piece)));
    for (const path of gone) this.pieces.delete(path);
  }

  read(): unknown {
    return joinedState(structuredClone(this.doc), structuredClone(Object.fromEntries(this.pieces)));
  }
}

describe('a state', () => {
  it('with few hosts is stored whole', () => {
    const small = stateOf(hostsOf(31));
    expect(storedState(undefined, small)).toEqual({ doc: small, changed: [], gone: [] });
  });

  it('with many hosts is stored host by host, and an event of one writes only that one', () => {
    const before = stateOf(hostsOf(500));
    const after = stateOf({ ...before.state.cluster.hosts, 'w-7': { at: 7, ready: true } });
    const { doc, changed, gone } = storedState(before, after);
    expect(JSON.stringify(doc).length).toBeLessThan(200);
    expect(changed).toEqual([{ path: '["state","cluster","hosts","w-7"]', doc: { at: 7, ready: true } }]);
    expect(gone).toEqual([]);
  });

  it('is the same after it was stored and read, whatever changed, grew and shrank', () => {
    for (let seed = 1; seed <= 100; seed += 1) {
      const random = seededRandom(seed);
      const below = (max: number): number => Math.floor(random() * max);
      const stored = new Stored();
      let state: unknown;
      let hosts = hostsOf(below(60));
      for (let step = 0; step < 20; step += 1) {
        const entries = Object.entries(hosts).filter(() => below(8) > 0);
        const changed = entries.map(
          ([name, host]) => [name, below(10) === 0 ? { at: step, ready: true } : host] as const,
        );
        const more = Array.from({ length: below(12) }, (_, at) => [`w-${step}-${at}`, { at, ready: false }] as const);
        hosts = Object.fromEntries([...changed, ...more]);
        const next = stateOf(hosts, { planned: Object.values(hosts), names: Object.keys(hosts), drain: below(2) });
        stored.write(storedState(state, next));
        expect(stored.read()).toEqual(next);
        // A replica that takes over knows the state only from the database.
        state = below(3) === 0 ? stored.read() : next;
        if (below(10) === 0) hosts = (state as typeof next).state.cluster.hosts;
      }
    }
  });

  it('that an earlier release stored whole is stored in pieces from the next write on, and loses nothing', () => {
    const stored = new Stored();
    stored.write({ doc: stateOf(hostsOf(100)), changed: [], gone: [] });
    const read = stored.read() as ReturnType<typeof stateOf>;
    const untouched = { ...read, seq: 2 };
    stored.write(storedState(read, untouched));
    expect(stored.read()).toEqual(untouched);
    const { 'w-5': _gone, ...others } = read.state.cluster.hosts;
    const after = stateOf({ ...others, 'w-6': { at: 6, ready: true } });
    stored.write(storedState(untouched, after));
    expect(stored.read()).toEqual(after);
  });

  it('with keys that are paths themselves is the same after a read', () => {
    const hosts = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`["a","${at}"]/.$pieces`, { at }]));
    const stored = new Stored();
    stored.write(storedState(undefined, stateOf(hosts)));
    expect(stored.read()).toEqual(stateOf(hosts));
  });
});
