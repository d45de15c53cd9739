import { describe, expect, it } from '@jest/globals';
import { RootDiskRequest } from './cluster-spec.js';
import { MaintenanceWindow } from './upgrades.js';

describe('a disk that is requested', () => {
  it.each([[{}], [{ type: 'gp3', size: '100' }], [{ type: 'default', size: 'default' }], [{ type: 'SSD.local/2' }]])(
    'may be %j',
    (disk) => expect(RootDiskRequest.safeParse(disk).success).toBe(true),
  );

  it.each([
    [{ type: '$(id)' }],
    [{ type: 'a;b' }],
    [{ type: '\u202edefault' }],
    [{ type: 'a'.repeat(64) }],
    [{ size: '0' }],
    [{ size: '-1' }],
    [{ size: '1e9' }],
    [{ size: '1000000' }],
    [{ size: '10 GB' }],
  ])('may not be %j', (disk) => expect(RootDiskRequest.safeParse(disk).success).toBe(false));
});

describe('the time of the day at which a maintenance window begins', () => {
  const begins = (from: string) => MaintenanceWindow.safeParse({ days: ['mon'], from, to: '06:00' });

  it.each(['00:00', '09:30', '23:59'])('may be %s', (from) => expect(begins(from).error?.issues).toBeUndefined());

  it.each(['24:00', '99:99', '23:60', '9:30', '09:30:00', ' 09:30'])('may not be %j', (from) =>
    expect(begins(from).error?.issues.map(({ path }) => path.join('.'))).toEqual(['from']),
  );
});
