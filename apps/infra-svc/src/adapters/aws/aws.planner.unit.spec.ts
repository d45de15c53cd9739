import { describe, expect, it } from '@jest/globals';
import { gunzipSync } from 'node:zlib';
import { isAnswerTo, titleIn } from './aws.exchange.js';
import { balancerName, clientToken, isOfConnection } from './aws.marks.js';
import { isThrottled, isTransient, sentenceOf, verdictOf } from './aws.verdicts.js';
import { isOffered } from './ec2.types.js';
import { isGoneIn, rememberGone } from './gone.planner.js';
import { changesOf, currentRules, permissionOf, rulesOf } from './rules.planner.js';
import { missingSubnets, networkFault } from './subnets.planner.js';
import { encodedUserData } from './user.data.js';
import { spread } from './zones.planner.js';

describe('the subnets of a VPC', () => {
  it('are a quarter of its range each, one for each zone', () =>
    expect(missingSubnets('192.168.7.0/24', ['z-a', 'z-b', 'z-c'], [])).toEqual([
      { zone: 'z-a', cidr: '192.168.7.0/26' },
      { zone: 'z-b', cidr: '192.168.7.64/26' },
      { zone: 'z-c', cidr: '192.168.7.128/26' },
    ]));

  it('keep what a zone has, and take only what is free', () =>
    expect(
      missingSubnets(
        '10.0.0.0/16',
        ['z-a', 'z-b'],
        [
          { zone: 'z-b', cidr: '10.0.0.0/18' },
          { zone: 'z-x', cidr: '10.0.64.0/20' },
        ],
      ),
    ).toEqual([{ zone: 'z-a', cidr: '10.0.128.0/18' }]));

  it('have no room for a fifth zone', () =>
    expect(missingSubnets('10.0.0.0/24', ['a', 'b', 'c', 'd', 'e'], [])).toBeUndefined());

  it.each([
    ['10.0.0.0/15', 'must be between /16 and /26'],
    ['10.0.0.0/27', 'must be between /16 and /26'],
  ])('are not possible in %s', (cidr, words) => expect(networkFault(cidr)).toContain(words));

  it('are possible in the smallest and in the largest range', () =>
    expect([networkFault('10.0.0.0/16'), networkFault('10.0.0.0/26')]).toEqual([undefined, undefined]));
});

describe('the zones of new machines', () => {
  const machine = (name: string, role = 'worker', zone?: string) => ({ name, role, zone });

  it('are those with the fewest machines of the same role', () => {
    const existing = [machine('x', 'worker', 'a'), machine('y', 'worker', 'b'), machine('z', 'control-plane', 'c')];
    const chosen = spread([machine('w-1'), machine('w-2')], existing, ['a', 'b', 'c']);
    expect([chosen.get('w-1')?.[0], chosen.get('w-2')?.[0]]).toEqual(['c', 'a']);
  });

  it('separate control planes, and include every other zone as a second choice', () => {
    const planes = ['cp-1', 'cp-2', 'cp-3'].map((name) => machine(name, 'control-plane'));
    const chosen = spread(planes, [], ['a', 'b', 'c']);
    expect(planes.map(({ name }) => chosen.get(name)?.[0])).toEqual(['a', 'b', 'c']);
    expect(chosen.get('cp-1')).toEqual(['a', 'b', 'c']);
  });

  it('do not depend on the order of the request, so that a repeated one asks for the same', () => {
    const all = ['w-1', 'w-2', 'w-3', 'w-4'].map((name) => machine(name));
    expect(new Map(spread([...all].reverse(), [], ['a', 'b']))).toEqual(new Map(spread(all, [], ['a', 'b'])));
  });

  it('are only the declared one, if one is declared', () =>
    expect(spread([machine('w-1', 'worker', 'b')], [], ['a', 'b']).get('w-1')).toEqual(['b']));
});

describe('a deleted incarnation', () => {
  const now = new Date('2026-11-30T10:00:00Z');
  const at = (minutes: number): string => new Date(now.getTime() - minutes * 60_000).toISOString();
  const many = (count: number, minutes: number) =>
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`fairlead.dev/gone/u${index}`, at(minutes + index)]),
    );

  it('is remembered once', () => {
    const plan = rememberGone({ Name: 'x' }, 'u1', now);
    expect(plan).toEqual({ add: { 'fairlead.dev/gone/u1': now.toISOString() }, remove: [] });
    expect(isGoneIn(plan!.add, 'u1')).toBe(true);
    expect(rememberGone(plan!.add, 'u1', now)).toEqual({ add: {}, remove: [] });
  });

  it('is forgotten after 30 days, or sooner where the limit of tags is reached', () => {
    const old = { 'fairlead.dev/gone/old': at(31 * 24 * 60), 'fairlead.dev/gone/new': at(1) };
    expect(rememberGone(old, 'u1', now)?.remove).toEqual(['fairlead.dev/gone/old']);
    expect(rememberGone(many(40, 61), 'u-new', now)?.remove).toEqual(['fairlead.dev/gone/u39']);
  });

  it('is never forgotten within the hour in which a late request may arrive', () =>
    expect(rememberGone(many(40, 1), 'u-new', now)).toBeUndefined());
});

describe('the rules of a security group', () => {
  const ssh = { protocol: 'tcp', ports: { from: 22, to: 22 }, source: '0.0.0.0/0' } as const;

  it('are closed to everyone but the allowed sources', () => {
    expect(rulesOf([ssh], [])).toEqual([]);
    expect(rulesOf([ssh], ['192.0.2.0/24', '198.51.100.7/32']).map(({ source }) => source)).toEqual([
      '192.0.2.0/24',
      '198.51.100.7/32',
    ]);
    expect(rulesOf([{ ...ssh, source: '10.0.0.0/24' }], [])).toHaveLength(1);
  });

  it('lose what is not desired, of whatever kind it is, and gain what is missing', () => {
    const current = currentRules([
      {
        ...{ IpProtocol: 'tcp', FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: '0.0.0.0/0' }] },
        ...{ Ipv6Ranges: [{ CidrIpv6: '::/0' }], UserIdGroupPairs: [], PrefixListIds: [{ PrefixListId: 'pl-1' }] },
      },
      { IpProtocol: '-1', IpRanges: [], Ipv6Ranges: [], UserIdGroupPairs: [{ GroupId: 'sg-1' }], PrefixListIds: [] },
    ]);
    const desired = [
      { protocol: '-1', from: -1, to: -1, source: 'sg-1' },
      { protocol: 'tcp', from: 22, to: 22, source: '192.0.2.0/24' },
    ];
    const { add, remove } = changesOf(current, desired);
    expect(add.map(({ source }) => source)).toEqual(['192.0.2.0/24']);
    expect(remove.map(permissionOf)).toEqual([
      { IpProtocol: 'tcp', FromPort: 22, ToPort: 22, IpRanges: [{ CidrIp: '0.0.0.0/0' }] },
      { IpProtocol: 'tcp', FromPort: 22, ToPort: 22, Ipv6Ranges: [{ CidrIpv6: '::/0' }] },
      { IpProtocol: 'tcp', FromPort: 22, ToPort: 22, PrefixListIds: [{ PrefixListId: 'pl-1' }] },
    ]);
    expect(changesOf(current, current)).toEqual({ add: [], remove: [] });
  });
});

describe('an error of AWS', () => {
  const error = (code: string, status: number) => ({ code, status });

  it.each([
    ['InsufficientInstanceCapacity', 500, true],
    ['VcpuLimitExceeded', 400, false],
    ['MaxSpotInstanceCountExceeded', 400, false],
    ['UnauthorizedOperation', 403, false],
    ['AuthFailure', 401, false],
    ['RequestLimitExceeded', 503, true],
    ['InvalidParameterValue', 400, false],
    ['InvalidGroup.NotFound', 400, true],
    ['TargetGroupNotFound', 400, true],
    ['DependencyViolation', 400, true],
    ['InternalError', 500, true],
    ['', 502, true],
    ['', 0, true],
  ])('%s (HTTP %i): another try can help: %s', (code, status, retryable) =>
    expect(verdictOf(error(code, status)).retryable).toBe(retryable),
  );

  it('means that nothing was done where it throttles, and nothing certain after a server error', () => {
    expect([isThrottled(error('RequestLimitExceeded', 503)), isThrottled(error('', 429))]).toEqual([true, true]);
    expect(isTransient(error('InternalError', 500))).toBe(true);
    expect(isTransient(error('InsufficientInstanceCapacity', 500))).toBe(false);
  });

  it('is one sentence with its words, its place, its code and what to do', () =>
    expect(
      sentenceOf({
        ...error('VcpuLimitExceeded', 400),
        ...{ words: 'You have requested more vCPU capacity than your current limit of 32 allows.', service: 'EC2' },
        action: 'RunInstances',
      }),
    ).toBe(
      'You have requested more vCPU capacity than your current limit of 32 allows. (EC2, RunInstances, HTTP 400, VcpuLimitExceeded); a higher quota of the account is requested from AWS in Service Quotas',
    ));

  it('does not repeat an encoded description of the account', () => {
    const words = 'You are not authorized to perform this operation. Encoded authorization failure message: abcDEF123';
    const said = sentenceOf({ ...error('UnauthorizedOperation', 403), words, service: 'EC2', action: 'RunInstances' });
    expect(said).not.toContain('abcDEF123');
    expect(said).toContain('the policy in docs/aws.md');
  });
});

describe('what is taken for an answer of AWS', () => {
  const whole = '<?xml version="1.0"?><DescribeInstancesResponse><reservationSet/></DescribeInstancesResponse>\n';

  it('is whole, and to what was asked', () => {
    expect(isAnswerTo('DescribeInstances', 200, whole)).toBe(true);
    expect(isAnswerTo('DescribeVpcs', 200, whole)).toBe(false);
    expect(isAnswerTo('DescribeInstances', 200, whole.slice(0, 60))).toBe(false);
  });

  it('is not the page of a proxy, whatever its status is', () => {
    const page = '<html><head><title>502 Bad Gateway</title></head></html>';
    expect([isAnswerTo('DescribeInstances', 200, page), isAnswerTo('DescribeInstances', 502, page)]).toEqual([
      false,
      false,
    ]);
    expect(titleIn(page)).toBe('502 Bad Gateway');
  });
});

describe('the names of resources', () => {
  it('of load balancers fit, and differ by connection', () => {
    expect(balancerName('aws', 'default.demo')).toMatch(/^fl-[0-9a-f]{24}$/);
    expect(balancerName('aws', 'default.demo')).not.toBe(balancerName('aws-2', 'default.demo'));
  });

  it('of requests are the same for the same request, and new after an instance has ended', () => {
    const of = { uid: 'u', name: 'w-1', subnet: 'subnet-1', spot: false, before: ['i-2', 'i-1'] };
    expect(clientToken(of)).toHaveLength(64);
    expect(clientToken(of)).toBe(clientToken({ ...of, before: ['i-1', 'i-2'] }));
    expect(
      new Set([of, { ...of, before: [] }, { ...of, subnet: 'subnet-2' }, { ...of, spot: true }].map(clientToken)).size,
    ).toBe(4);
  });

  it('with the group of another connection are not ours', () => {
    const tags = { 'fairlead.dev/connection': 'aws', 'fairlead.dev/group': 'default.demo.aws' };
    expect(isOfConnection(tags, 'aws')).toBe(true);
    expect(isOfConnection({ ...tags, 'fairlead.dev/group': 'default.demo.other' }, 'aws')).toBe(false);
    expect(isOfConnection(tags, 'ws')).toBe(false);
  });
});

describe('the offer of a connection', () => {
  it('has instance types by name and by family', () => {
    const offered = ['t3.*', 'm7i.large'];
    expect(['t3.medium', 'm7i.large', 'm7i.xlarge', 't3a.medium'].map((name) => isOffered(name, offered))).toEqual([
      ...[true, true, false, false],
    ]);
  });
});

describe('user data', () => {
  it('are sent as they are, or compressed where they are too long for EC2', () => {
    expect(Buffer.from(encodedUserData('#!/bin/sh\n')!, 'base64').toString()).toBe('#!/bin/sh\n');
    const long = 'a line\n'.repeat(10_000);
    expect(gunzipSync(Buffer.from(encodedUserData(long)!, 'base64')).toString()).toBe(long);
  });

  it('are refused where even that is too long', () => {
    const random = Array.from({ length: 9_000 }, (_, at) => ((at * 2_654_435_761) >>> 0).toString(36)).join('');
    expect(encodedUserData(random)).toBeUndefined();
  });
});
