import { newFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Workshop, type Piece } from './pieces.js';

let folder: string;
let begun: string[];
let workshop: Workshop;

beforeEach(async () => {
  folder = newFolder('pieces');
  begun = [];
  workshop = newWorkshop();
  await workshop.open();
});
afterEach(() => rmSync(folder, { recursive: true }));

const newWorkshop = () =>
  new Workshop(join(folder, 'work'), {
    begin: (title) => {
      begun.push(title);
      return { note: () => undefined, end: () => undefined };
    },
  });

const piece = (recipe: string, make: Piece['make']): Piece => ({
  name: 'kubelet',
  title: 'the kubelet',
  root: join(folder, 'mirror'),
  recipe,
  make,
});

const writing = (content: string): Piece['make'] => {
  return (into) => {
    mkdirSync(join(into, 'release'));
    writeFileSync(join(into, 'release', 'kubelet'), content);
    return Promise.resolve();
  };
};

describe('a piece', () => {
  it('is built once, and reused by the next build', async () => {
    const files = await workshop.ensure(piece('1', writing('kubelet')));
    expect(files).toEqual([
      { path: 'release/kubelet', size: 7, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) as unknown },
    ]);
    expect(await newWorkshop().ensure(piece('1', writing('another')))).toEqual(files);
    expect(begun).toEqual(['the kubelet']);
  });

  it('is built again if its recipe changes or one of its files is missing', async () => {
    await workshop.ensure(piece('1', writing('one')));
    await workshop.ensure(piece('2', writing('two')));
    rmSync(join(folder, 'mirror', 'release', 'kubelet'));
    await workshop.ensure(piece('2', writing('three')));
    expect(begun).toHaveLength(3);
    expect(readFileSync(join(folder, 'mirror', 'release', 'kubelet'), 'utf8')).toBe('three');
  });

  it('leaves nothing in the mirror or in the work folder if its build fails', async () => {
    const failing: Piece['make'] = async (into, note) => {
      await writing('half')(into, note);
      throw new Error('the compiler stopped');
    };
    await expect(workshop.ensure(piece('1', failing))).rejects.toThrow('the compiler stopped');
    expect(existsSync(join(folder, 'mirror'))).toBe(false);
    expect(await workshop.done(piece('1', failing))).toBeUndefined();
    await workshop.close();
    expect(readdirSync(join(folder, 'work', 'making'))).toEqual([]);
  });

  it('is removed by the next build if its own build was killed, but not if that is still running', async () => {
    const making = join(folder, 'work', 'making');
    const dead = '4194305'; // Above the kernel's maximum process ID.
    for (const pid of [dead, String(process.ppid)]) mkdirSync(join(making, pid, 'kubelet'), { recursive: true });
    await newWorkshop().open();
    expect(readdirSync(making)).toEqual([String(process.ppid)]);
  });
});
