import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCurve, createUser } from '@nats-io/nkeys';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Header } from './handover.file.js';
import { checkHandover, messagesIn, writeHandover, type Content } from './handover.file.store.js';

const key = createCurve().getPublicKey();
const signer = createUser();
const seed = Buffer.from(signer.getSeed()).toString('utf8');
const header: Header = {
  format: 'fairlead-handover.v2',
  id: randomUUID(),
  target: key,
  lock: '0'.repeat(64),
  at: '2026-01-31T00:00:00.000Z',
  epoch: 1,
  events: 1,
  sender: key,
  source: signer.getPublicKey(),
  keys: '',
};

let folder: string;
let file: string;
beforeEach(() => {
  folder = newFolder('handover-file');
  file = join(folder, 'fairlead.handover');
});
afterEach(() => removeFolder(folder));

const contentOf = async function* (...words: readonly string[]): Content {
  for (const word of words)
    yield ['events', { subject: 'evt.1.default.demo.request.ClusterRequested', headers: {}, data: Buffer.from(word) }];
};

const wordsIn = async (): Promise<readonly string[]> => {
  const words: string[] = [];
  for await (const { data } of messagesIn(file, 'events')) words.push(Buffer.from(data).toString('utf8'));
  return words;
};

describe('the file of a handover', () => {
  it('contains exactly one export if two write it at the same time', async () => {
    const exportOf = (id: string): Promise<void> =>
      writeHandover(file, { header: { ...header, id }, content: contentOf(id), seed });
    await Promise.all([exportOf(randomUUID()), exportOf(randomUUID())]);
    expect(await wordsIn()).toEqual([(await checkHandover(file, header.source)).id]);
    expect(readdirSync(folder)).toEqual(['fairlead.handover']);
  });

  it('is unchanged if an export fails, and no temporary file remains', async () => {
    await writeHandover(file, { header, content: contentOf('before'), seed });
    const failing = async function* (): Content {
      yield* contentOf('half');
      throw new Error('NATS is away');
    };
    await expect(writeHandover(file, { header, content: failing(), seed })).rejects.toThrow('NATS is away');
    expect(await wordsIn()).toEqual(['before']);
    expect(readdirSync(folder)).toEqual(['fairlead.handover']);
  });
});
