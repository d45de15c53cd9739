import type { FirewallRule } from '../../providers/provider.ports.js';
import type { Permission } from './aws.answers.js';

/** One source of one rule of a security group. */
export interface Rule {
  readonly protocol: string;
  readonly from: number;
  readonly to: number;
  readonly source: string;
}

const ANYWHERE = '0.0.0.0/0';
const ANY_PROTOCOL = '-1';
const ANY = -1;

const keyOf = ({ protocol, from, to, source }: Rule): string => [protocol, from, to, source].join('|');

/** Rules for everyone are for those sources that the settings allow. */
export const rulesOf = (rules: readonly FirewallRule[], allowed: readonly string[]): readonly FirewallRule[] =>
  rules.flatMap((rule) =>
    rule.source === ANYWHERE ? allowed.map((source): FirewallRule => ({ ...rule, source })) : [rule],
  );

export const awsRule = ({ protocol, ports, source }: FirewallRule): Rule => ({
  protocol,
  from: ports?.from ?? ANY,
  to: ports?.to ?? ANY,
  source,
});

/** All traffic between members: IP in IP and other protocols of pod networks have no ports. */
export const amongMembers = (group: string): Rule => ({ protocol: ANY_PROTOCOL, from: ANY, to: ANY, source: group });

/** What a security group permits now. */
export const currentRules = (permissions: readonly Permission[]): readonly Rule[] =>
  permissions.flatMap(({ IpProtocol: protocol, FromPort: from = ANY, ToPort: to = ANY, ...sources }) =>
    [
      ...sources.IpRanges.map(({ CidrIp }) => CidrIp),
      ...sources.Ipv6Ranges.map(({ CidrIpv6 }) => CidrIpv6),
      ...sources.UserIdGroupPairs.map(({ GroupId }) => GroupId),
      ...sources.PrefixListIds.map(({ PrefixListId }) => PrefixListId),
    ].map((source) => ({ protocol, from, to, source })),
  );

export interface RuleChanges {
  readonly add: readonly Rule[];
  readonly remove: readonly Rule[];
}

export const changesOf = (current: readonly Rule[], desired: readonly Rule[]): RuleChanges => {
  const [there, wanted] = [current, desired].map((rules) => new Map(rules.map((rule) => [keyOf(rule), rule])));
  return {
    add: [...wanted!].flatMap(([key, rule]) => (there!.has(key) ? [] : [rule])),
    remove: [...there!].flatMap(([key, rule]) => (wanted!.has(key) ? [] : [rule])),
  };
};

const sourceOf = (source: string): Record<string, unknown> => {
  if (source.startsWith('sg-')) return { UserIdGroupPairs: [{ GroupId: source }] };
  if (source.startsWith('pl-')) return { PrefixListIds: [{ PrefixListId: source }] };
  return source.includes(':') ? { Ipv6Ranges: [{ CidrIpv6: source }] } : { IpRanges: [{ CidrIp: source }] };
};

/** As EC2 takes it. */
export const permissionOf = ({ protocol, from, to, source }: Rule) => ({
  IpProtocol: protocol,
  ...(protocol === ANY_PROTOCOL ? {} : { FromPort: from, ToPort: to }),
  ...sourceOf(source),
});
