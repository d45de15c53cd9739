import { NONE, partitionOf, ExternalFailure, type StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import type { Positions } from '@fairlead/event-sourcing/jetstream';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { describeApi } from '../documents/describe.js';
import { OwnWrites } from './own.writes.js';
import { writesBehind } from './writes.rules.js';

const WRITES = { partition: 5, filter: 'evt.5.default.demo.request.>' };

/** A log with commands at `seqs`, rows that show it up to `reached`, and a note of everything that was asked. */
const world = (seqs: readonly number[] | ExternalFailure, reached: number) => {
  const asked: string[] = [];
  const clock = { ms: 0 };
  const store = {
    read: async (_filter: string, afterSeq: number) => {
      asked.push('log');
      if (seqs instanceof ExternalFailure) throw seqs;
      return seqs
        .filter((seq) => seq > afterSeq)
        .map((seq) => ({ event: { meta: { seq } } as unknown as StoredEvent, hash: '' }));
    },
  } as unknown as EventStore;
  const positions: Positions = {
    waitFor: () => Promise.reject(new Error('nobody asks for it')),
    reach: async (_partition, seq, ms) => {
      asked.push(seq <= reached ? 'rows' : `rows, ${ms} ms`);
      return reached;
    },
  };
  const writes = new OwnWrites(store, positions, { now: () => new Date(clock.ms) });
  return { writes, asked, clock };
};

describe('a read', () => {
  it('of what no command is about asks the log once, and waits for nothing', async () => {
    const { writes, asked } = world([], 40);
    await writes.shown([WRITES]);
    asked.length = 0;
    await writes.shown([WRITES]);
    expect(asked).toEqual(['log']);
  });

  it('does not ask again for a command that the rows are known to show', async () => {
    const { writes, asked } = world([30, 40], 41);
    await writes.shown([WRITES]);
    asked.length = 0;
    await writes.shown([WRITES]);
    expect(asked).toEqual(['log']);
  });

  it('waits for a command that the rows do not show, and not a second time for rows that stand still', async () => {
    const { writes, asked, clock } = world([50], 40);
    await writes.shown([WRITES]);
    await writes.shown([WRITES]);
    clock.ms += 5_001;
    await writes.shown([WRITES]);
    expect(asked.filter((what) => what !== 'log')).toEqual(['rows', 'rows, 5000 ms', 'rows, 0 ms', 'rows, 5000 ms']);
  });

  it('is answered from the rows while the log does not answer, which is asked once a second', async () => {
    const failure = new ExternalFailure({ operation: 'read events', target: 'EVENTS', message: 'no responders' });
    const { writes, asked, clock } = world(failure, 40);
    await writes.shown([WRITES]);
    await writes.shown([WRITES]);
    clock.ms += 1_001;
    await writes.shown([WRITES]);
    expect(asked).toEqual(['rows', 'log', 'log']);
  });
});

/** Answered from the log itself, from a table that the command itself writes, or from nothing that anybody commands. */
const NEED_NOTHING = [
  '/events',
  '/events/stream',
  '/fleet/activity',
  '/fleet/causes',
  '/fleet/durations',
  '/handover',
  '/join/agent.mjs',
  '/join/install.sh',
  '/join/node.gz',
  '/ns/{namespace}/clusters/{cluster}/audit',
  '/ns/{namespace}/clusters/{cluster}/events',
  '/ns/{namespace}/clusters/{cluster}/events/stream',
  '/release-signers',
  '/releases',
  '/releases/{version}',
  '/schemas/cluster',
  '/schemas/cluster-template',
  '/sign-in/issuer',
  '/sign-in/issuer/begin',
  '/sign-in/issuer/callback',
  '/tokens',
  '/version',
  '/whoami',
];

describe('every route that reads', () => {
  let paths: readonly string[];
  beforeAll(async () => {
    const document = await describeApi();
    paths = Object.entries(document.paths).flatMap(([path, methods]) => ('get' in methods ? [path] : []));
  });

  const segmentsOf = (path: string) =>
    path
      .replaceAll(/\{\w+\}/g, 'demo')
      .split('/')
      .slice(1);

  it('sees the commands that were answered before it', () => {
    const without = paths.filter((path) => writesBehind('GET', segmentsOf(path)).length === 0);
    expect(without.toSorted()).toEqual(NEED_NOTHING);
  });

  it.each(['cluster-templates', 'cluster-templates/small', 'realms', 'realms/staff', 'hook-secrets', 'addon-secrets'])(
    'sees the commands about the namespace, not those about a cluster of that name: %s',
    (route) => {
      const partition = partitionOf('demo', NONE);
      const behind = writesBehind('GET', segmentsOf(`/ns/demo/${route}`));
      const filters = behind.filter((writes) => writes.partition === partition).map(({ filter }) => filter);
      expect([`evt.${partition}.demo.${NONE}.request.>`, `evt.${partition}.demo.*.request.>`]).toContain(filters[0]);
    },
  );

  it.each(['/ns/*', '/ns/>/clusters', '/ns/a.b/clusters/x', '/ns/a/clusters/b.>', '/ns/a/clusters/%2A'])(
    'never asks the log for %s, which is nothing in it',
    (path) => {
      expect(writesBehind('GET', segmentsOf(path))).toEqual([]);
    },
  );
});
