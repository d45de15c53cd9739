import { newFolder, removeFolder } from '@fairlead/testing';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect } from '@jest/globals';
import { check, itWith } from '@fairlead/testing/programs';

const golden = (path: string): string => fileURLToPath(new URL(`../${path}.golden`, import.meta.url));
const SCRIPTS = ['hosts/golden/customize.sh', 'hosts/golden/keeper.sh', 'balancers/golden/keeper.sh'];

describe('the scripts that create and keep hosts and load balancers', () => {
  itWith('shellcheck').each(SCRIPTS)('have no shellcheck findings: %s', (path) => {
    // SC2016: apparent expansions in single quotes are content, quoted on purpose.
    expect(check('shellcheck', ['--shell=sh', '--exclude=SC2016', golden(path)]).lines).toEqual([]);
  });
});

describe("the unit that isolates a host's settings from its machine", () => {
  let folder: string;
  beforeEach(() => {
    folder = newFolder('unit');
  });
  afterEach(() => removeFolder(folder));

  const faultsOf = (text: string): readonly string[] => {
    const file = join(folder, 'machine-guard.service');
    writeFileSync(file, text);
    const { lines } = check('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', file]);
    // The program exists on the host, not on this machine.
    return lines.filter((line) => line.includes('machine-guard') && !/is not executable: No such file/.test(line));
  };

  itWith('systemd-analyze')('is accepted by systemd', () => {
    const script = readFileSync(golden('hosts/golden/customize.sh'), 'utf8');
    const [, unit = ''] = /<<'MACHINE_GUARD_UNIT'\n([^]*?)MACHINE_GUARD_UNIT\n/.exec(script) ?? [];
    expect(unit).toContain('ExecStart=');
    expect(faultsOf(unit)).toEqual([]);
    expect(faultsOf(unit.replace('Type=oneshot', 'Type=twice'))).toHaveLength(1);
  });
});
