import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { WRITE_HOSTS } from './kilo.manifests.js';

describe('the names that Kilo resolves on a node with several interfaces', () => {
  let folder: string;

  beforeEach(() => void (folder = newFolder('kilo')));
  afterEach(() => removeFolder(folder));

  const written = (hosts: string): string => {
    const [from, to] = [join(folder, 'etc-hosts'), join(folder, 'hosts')];
    writeFileSync(from, hosts);
    const script = WRITE_HOSTS.replace('/hosts/hosts', to).replace('/etc/hosts', from);
    const env = { ...process.env, NODE_NAME: 'demo-w-1-x7k2p', NODE_IP: '10.77.0.2' };
    execFileSync('sh', ['-ec', script], { env });
    return readFileSync(to, 'utf8');
  };

  // squat/kilo#367: of several addresses of a name, Kilo takes the lowest.
  it('include the name of the node with its own address only, whatever the host has for it', () =>
    expect(
      written('127.0.0.1 localhost\n127.0.1.1 demo-w-1-x7k2p\n10.0.2.15 demo-w-1-x7k2p.example.org demo-w-1-x7k2p\n'),
    ).toBe('10.77.0.2 demo-w-1-x7k2p\n127.0.0.1 localhost\n'));

  it('include other names of the host, such as that of the API', () =>
    expect(written('127.0.0.1 localhost\n10.77.0.9 api.example.org\n')).toBe(
      '10.77.0.2 demo-w-1-x7k2p\n127.0.0.1 localhost\n10.77.0.9 api.example.org\n',
    ));

  it('are those of the node alone if the host has no others', () =>
    expect(written('')).toBe('10.77.0.2 demo-w-1-x7k2p\n'));
});
