import { newFolder, removeFolder } from '@fairlead/testing';
import { spawn } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { bundleProgram, Program } from '../../test/programs.js';
import { identityOf } from '../process/identity.js';
import { freePorts, isPortFree, LOOPBACK } from '../process/ports.js';
import { cacheFolder } from './cache-folder.js';
import { diskFault, openDataFolder, portsOf } from './data-folder.js';
import { makeFolder } from './files.js';
import { isLockHeld, takeLock } from './lock.js';
import { isOpenToOthers, isTrusted } from './reach.js';

let parent: string;
beforeEach(() => {
  parent = newFolder('folder');
});
afterEach(() => removeFolder(parent));

const listenOn = (port: number): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer();
    server.listen(port, LOOPBACK, () => resolve(server));
  });
const faultOf = (work: () => unknown): unknown => {
  try {
    work();
    return 'none';
  } catch (error) {
    return error;
  }
};

describe('a lock', () => {
  it('is refused while its holder is alive, and names the holder', () => {
    const first = takeLock(join(parent, 'lock'));
    expect(first.status).toBe('taken');
    expect(takeLock(join(parent, 'lock'))).toEqual({ status: 'held', holder: identityOf(process.pid) });
    if (first.status === 'taken') first.release();
    expect(isLockHeld(join(parent, 'lock'))).toBe(false);
    expect(takeLock(join(parent, 'lock')).status).toBe('taken');
  });

  it('of a process that has ended is taken over', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    const holder = identityOf(child.pid ?? 0);
    await new Promise((resolve) => child.once('close', resolve));
    writeFileSync(join(parent, 'lock'), JSON.stringify(holder));
    expect(takeLock(join(parent, 'lock')).status).toBe('taken');
  });

  it('of an earlier process with a reused pid is taken over', () => {
    writeFileSync(join(parent, 'lock'), JSON.stringify({ pid: process.pid, birth: 'an-earlier-boot/17' }));
    expect(takeLock(join(parent, 'lock')).status).toBe('taken');
  });

  it('that is damaged has no holder', () => {
    writeFileSync(join(parent, 'lock'), '{"pi');
    expect(takeLock(join(parent, 'lock')).status).toBe('taken');
  });

  it('is not released by a process that lost it', () => {
    const lost = takeLock(join(parent, 'lock'));
    writeFileSync(join(parent, 'lock'), JSON.stringify(identityOf(process.ppid)));
    if (lost.status === 'taken') lost.release();
    expect(isLockHeld(join(parent, 'lock'))).toBe(true);
  });
});

describe('a data folder', () => {
  it('is created for its owner only, and can be opened again after its release', () => {
    const path = join(parent, 'data');
    openDataFolder(path).release();
    expect(statSync(path).mode & 0o777).toBe(0o700);
    openDataFolder(path).release();
  });

  it('in use is refused with the process that uses it', () => {
    const folder = openDataFolder(join(parent, 'data'));
    expect(faultOf(() => openDataFolder(folder.path))).toMatchObject({
      code: 'folder-in-use',
      message: expect.stringContaining(`is in use by process ${process.pid}. Stop that one`),
    });
    folder.release();
  });

  it('of a newer Fairlead is refused, and not changed', () => {
    writeFileSync(join(parent, 'fairlead.json'), '{"format":2,"new":true}');
    expect(faultOf(() => openDataFolder(parent))).toMatchObject({
      code: 'folder-newer',
      message: expect.stringContaining('has format 2, and this Fairlead knows up to 1'),
    });
    expect(readFileSync(join(parent, 'fairlead.json'), 'utf8')).toBe('{"format":2,"new":true}');
    expect(isLockHeld(join(parent, 'lock'))).toBe(false);
  });

  it('with a damaged marker is refused with the file', () => {
    writeFileSync(join(parent, 'fairlead.json'), '{');
    expect(faultOf(() => openDataFolder(parent))).toMatchObject({
      code: 'folder-unusable',
      message: expect.stringContaining('fairlead.json is damaged'),
    });
  });

  it('that cannot be created is refused with the reason', () => {
    writeFileSync(join(parent, 'file'), '');
    expect(faultOf(() => openDataFolder(join(parent, 'file', 'data')))).toMatchObject({
      code: 'folder-unusable',
      message: expect.stringContaining('ENOTDIR'),
    });
  });

  describe('opened by another program', () => {
    const ENDS_WITHIN_MS = 20_000;
    const NOBODY = 65_534;
    let program: Awaited<ReturnType<typeof bundleProgram>>;
    beforeAll(async () => {
      program = await bundleProgram(`import { openDataFolder } from '@embedded';
try { openDataFolder(process.argv[2]).release(); console.log('opened'); } catch (error) { console.log(error.code, error.message); }`);
    }, 60_000);
    afterAll(() => program.remove());

    /** Its output; a program that does not exit has printed too little. */
    const opening = async (path: string, as: { uid?: number; gid?: number } = {}): Promise<string> => {
      const running = new Program(program.file, { args: [path], ...as });
      const overdue = setTimeout(() => running.process.kill('SIGKILL'), ENDS_WITHIN_MS);
      const { code, output } = await running.ended;
      clearTimeout(overdue);
      return code === null ? `it did not end within ${ENDS_WITHIN_MS} ms` : output;
    };

    it('is refused on a file system that cannot create folders, instead of hanging', async () => {
      expect(await opening('/proc/fairlead/data')).toMatch(
        /^folder-unusable The data folder \/proc\/fairlead\/data cannot be made: ENOENT: .*mkdir '\/proc\/fairlead'/,
      );
    });

    it('is refused if it is read-only', async () => {
      const path = join(parent, 'read-only');
      mkdirSync(path);
      chmodSync(parent, 0o755);
      const isRoot = process.getuid?.() === 0;
      if (isRoot) chownSync(path, NOBODY, NOBODY);
      chmodSync(path, 0o500);
      expect(await opening(path, isRoot ? { uid: NOBODY, gid: NOBODY } : {})).toMatch(
        /^folder-unusable The data folder \S+ cannot be written: EACCES: /,
      );
      chmodSync(path, 0o700);
      expect(await opening(path, isRoot ? { uid: NOBODY, gid: NOBODY } : {})).toBe('opened\n');
    }, 60_000);
  });

  it('that is a file is refused with the reason', () => {
    writeFileSync(join(parent, 'file'), '');
    expect(faultOf(() => openDataFolder(join(parent, 'file')))).toMatchObject({
      code: 'folder-unusable',
      message: expect.stringMatching(/file cannot be made: EEXIST/),
    });
  });

  it('with a lock that is not a file is refused with the reason', () => {
    mkdirSync(join(parent, 'lock'));
    expect(faultOf(() => openDataFolder(parent))).toMatchObject({
      code: 'folder-unusable',
      message: expect.stringMatching(/cannot be written: EISDIR/),
    });
  });

  it('on a full disk is refused with the free and the required space', () => {
    expect(diskFault('/data', 100 * 1024 * 1024)).toMatchObject({
      code: 'disk-full',
      message:
        'The disk of /data has 100 MiB free, and at least 256 MiB are needed. Free some, or choose a folder on another disk.',
    });
    expect(diskFault('/data', 300 * 1024 * 1024)).toBeUndefined();
  });

  it('keeps its ports, and reports one that another program uses', async () => {
    const folder = openDataFolder(join(parent, 'data'));
    const ports = await portsOf(folder, ['nats', 'postgres']);
    expect(await portsOf(folder, ['nats', 'postgres'])).toEqual(ports);
    const squatter = await listenOn(ports.nats);
    await expect(portsOf(folder, ['nats'])).rejects.toMatchObject({
      code: 'port-taken',
      message: expect.stringMatching(
        new RegExp(`^Port ${ports.nats} on 127\\.0\\.0\\.1, where this data folder has its nats, is taken`),
      ),
    });
    expect(await portsOf(folder, ['postgres'])).toEqual(ports);
    await new Promise((resolve) => squatter.close(resolve));
    folder.release();
  });
});

describe('creating a folder', () => {
  it('creates missing parents as well, and returns whether it was missing', () => {
    const folder = join(parent, 'a', 'b');
    expect(makeFolder(folder, 0o700)).toBe(true);
    expect([statSync(join(parent, 'a')).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o700, 0o700]);
    expect(makeFolder(folder)).toBe(false);
  });

  it('stops at a dangling link', () => {
    symlinkSync(join(parent, 'nowhere'), join(parent, 'link'));
    expect(faultOf(() => makeFolder(join(parent, 'link', 'data')))).toMatchObject({ code: 'EEXIST' });
  });
});

it('a file written by two processes at the same time is complete, and neither fails', async () => {
  const program = await bundleProgram(`import { readIfAny, writeWhole } from '@embedded';
const [, , file, text] = process.argv;
for (let round = 0; round < 300; round += 1) {
  writeWhole(file, text.repeat(1_000));
  const seen = readIfAny(file);
  if (seen?.length !== 1_000 || new Set(seen).size !== 1) throw new Error('half a file');
}`);
  try {
    const runs = ['a', 'b'].map((text) => new Program(program.file, { args: [join(parent, 'file'), text] }).ended);
    expect(await Promise.all(runs)).toEqual([
      { code: 0, output: '' },
      { code: 0, output: '' },
    ]);
    expect(readdirSync(parent)).toEqual(['file']);
  } finally {
    program.remove();
  }
}, 60_000);

describe('free ports', () => {
  it("are below the kernel's ephemeral range, and the same for the same seed", async () => {
    const ports = await freePorts(parent, 3);
    expect(new Set(ports).size).toBe(3);
    for (const port of ports) expect(port >= 20_000 && port < 30_000).toBe(true);
    expect(await freePorts(parent, 3)).toEqual(ports);
  });

  it('skip one that is in use', async () => {
    const [first = 0] = await freePorts(parent, 1);
    const squatter = await listenOn(first);
    expect(await isPortFree(first)).toBe(false);
    expect(await freePorts(parent, 1)).not.toContain(first);
    await new Promise((resolve) => squatter.close(resolve));
  });
});

describe('the cache', () => {
  it.each([
    ['the one that was asked for', { FAIRLEAD_CACHE: '/asked', HOME: '/home/x' }, '/asked'],
    ['the one in the data folder without a home', {}, '/data/cache'],
    ['the one in the data folder when the home does not exist', { HOME: '/nonexistent' }, '/data/cache'],
    ['the one in the data folder when the home is no folder', { HOME: '/dev/null' }, '/data/cache'],
  ])('is %s', (_what, env, expected) => expect(cacheFolder(env, '/data')).toBe(expected));

  it("is in the home folder, or at XDG's location", () => {
    expect(cacheFolder({ HOME: parent }, '/data')).toBe(join(parent, '.cache/fairlead'));
    expect(cacheFolder({ HOME: parent, XDG_CACHE_HOME: join(parent, 'xdg') }, '/data')).toBe(
      join(parent, 'xdg/fairlead'),
    );
  });
});

it('a folder is inaccessible for others if a parent is closed', () => {
  mkdirSync(join(parent, 'closed/open'), { recursive: true });
  chmodSync(parent, 0o755);
  expect(isOpenToOthers(join(parent, 'closed/open'))).toBe(true);
  chmodSync(join(parent, 'closed'), 0o700);
  expect(isOpenToOthers(join(parent, 'closed/open'))).toBe(false);
});

describe('a program in the cache', () => {
  it('is run only if no other user can have replaced it', () => {
    const program = join(parent, 'program');
    writeFileSync(program, '', { mode: 0o755 });
    expect(isTrusted(program)).toBe(true);
    for (const mode of [0o775, 0o757]) {
      chmodSync(program, mode);
      expect(isTrusted(program)).toBe(false);
    }
    expect(isTrusted(join(parent, 'missing'))).toBe(false);
    if (process.getuid?.() !== 0) return;
    chmodSync(program, 0o755);
    chownSync(program, 65534, 65534);
    expect(isTrusted(program)).toBe(false);
  });
});
