import { describe, expect, it } from '@jest/globals';
import { Blobs } from './blobs.js';
import { hostFilesFeatures } from './host.files.features.js';
import { MemoryFiles } from './memory.files.js';

const BIG = 'x'.repeat(20_000);

describe('files in memory', () => {
  hostFilesFeatures(async () => new MemoryFiles(new Blobs('/nowhere'), () => undefined));

  it('store equal large contents once for all hosts', async () => {
    const blobs = new Blobs('/nowhere');
    const hosts = [new MemoryFiles(blobs, () => undefined), new MemoryFiles(blobs, () => undefined)];
    for (const files of hosts) {
      const file = await files.open('/agent', { read: false, write: true, create: true });
      await file.write(0, Buffer.from(BIG));
      await file.close();
    }
    const [one, two] = hosts.map((files) => files.readBytes('/agent'));
    expect(one).toBeDefined();
    expect(one).toBe(two);
  });

  it('are unchanged after being stored and restored', async () => {
    const blobs = new Blobs('/nowhere');
    const before = new MemoryFiles(blobs, () => undefined);
    await before.writeText('/etc/a', 'ä', 0o600);
    await before.link('a', '/etc/b');
    const after = new MemoryFiles(blobs, () => undefined);
    after.restore(JSON.parse(JSON.stringify(before.store())) as ReturnType<MemoryFiles['store']>);
    expect(await after.readText('/etc/b')).toBe('ä');
    expect(await after.stat('/etc/a')).toMatchObject({ permissions: 0o600 });
  });
});
