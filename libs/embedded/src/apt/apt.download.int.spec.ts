import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { withDebianPackages } from './apt.download.js';

const suite = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'stable';

it('a library that its package keeps in /lib is found with all others', async () => {
  let libraries: readonly string[] = [];
  const request = { suites: [suite], select: async () => ['libkeyutils1'] };
  const reasons = await withDebianPackages(request, async ({ root }) => {
    const lib = join(root, 'usr', 'lib');
    libraries = existsSync(lib) ? readdirSync(lib).flatMap((machine) => readdirSync(join(lib, machine))) : [];
    return undefined;
  });
  if (reasons.length > 0)
    process.stderr.write(`\n!!! NOT CHECKED: packages of Debian's archive: ${reasons.join('; ')}\n\n`);
  else expect(libraries).toContain('libkeyutils.so.1');
}, 120_000);
