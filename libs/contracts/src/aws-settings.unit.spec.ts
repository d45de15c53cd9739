import { describe, expect, it } from '@jest/globals';
import { AwsSettings } from './aws-settings.js';
import { settingFaults } from './connection-settings.js';

const accessKeyId = 'AKIAIOSFODNN7EXAMPLE';
const subnets = ['subnet-0123456789abcdef0'];
const faultsOf = (settings: Readonly<Record<string, unknown>>) =>
  settingFaults('aws', settings).map(({ field, message }) => `${field} ${message}`);

describe('the settings of an aws connection', () => {
  it('need an access key only: everything else has a default, and the machines admit no traffic from outside', () => {
    const settings = AwsSettings.parse({ accessKeyId });
    expect(settings).toMatchObject({ credentials: 'key', user: 'admin', imageOwner: '136693071363', spot: 'none' });
    expect([settings.allowedSources, settings.publicAddresses]).toEqual([[], true]);
  });

  it.each([
    ['no credentials at all', {}, 'accessKeyId is missing'],
    [
      'a key that is not used',
      { credentials: 'host', accessKeyId },
      'accessKeyId has no effect with credentials: host',
    ],
    [
      'the role of the host at another endpoint',
      { credentials: 'host', endpoint: 'https://aws.example.org' },
      'endpoint would get a token of the host; it needs credentials: key',
    ],
    [
      'a range of a VPC that is not made',
      { accessKeyId, subnets, networkCidr: '10.0.0.0/16' },
      'networkCidr has no effect with subnets',
    ],
    [
      'zones of subnets that are not made',
      { accessKeyId, subnets, zones: ['eu-central-1a'] },
      'zones has no effect with subnets',
    ],
    [
      'machines without a way out',
      { accessKeyId, publicAddresses: false },
      'publicAddresses can be false only with subnets, because the VPC that is made has no other way out',
    ],
    [
      'a secret instead of an ID',
      { accessKeyId: 'wJalrXUtnFEMI/K7MDENG' },
      'accessKeyId is not the ID of an access key: 16 to 128 capital letters and digits',
    ],
    [
      'every instance type',
      { accessKeyId, instanceTypes: ['*'] },
      'instanceTypes[0] is neither an instance type nor a family, e.g. t3.medium or m7i.*',
    ],
    [
      'the images of anyone',
      { accessKeyId, imageOwner: 'all' },
      'imageOwner is neither an account of twelve digits nor self or amazon',
    ],
  ])('refuse %s', (_what, settings, fault) => expect(faultsOf(settings)).toEqual([fault]));

  it('take existing subnets without public addresses, and the role of the host', () =>
    expect(faultsOf({ credentials: 'host', subnets, publicAddresses: false })).toEqual([]));

  it('take at most as many sources as a security group has rules for', () => {
    const sources = (count: number) => Array.from({ length: count }, (_, at) => `192.0.2.${at}/32`);
    expect(faultsOf({ accessKeyId, allowedSources: sources(7) })).toEqual([]);
    expect(faultsOf({ accessKeyId, allowedSources: sources(8) })).toHaveLength(1);
  });
});
