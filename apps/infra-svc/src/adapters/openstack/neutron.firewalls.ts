import type { Firewall, FirewallRule } from '../../providers/provider.ports.js';
import * as answers from './openstack.answers.js';
import type { CloudCalls } from './openstack.calls.js';
import { goneIn, goneTag, sharedMark, type Gone } from './openstack.marks.js';

/** How long deleted incarnations are remembered: no request for one can still be in progress after that. */
const GONE_DAYS = 30;
const DAY_MS = 86_400_000;

type Rule = Partial<
  Pick<
    answers.SecurityGroupRule,
    'protocol' | 'port_range_min' | 'port_range_max' | 'remote_ip_prefix' | 'remote_group_id'
  >
>;

const ruleOf = ({ protocol, ports, source }: FirewallRule): Rule => ({
  protocol,
  ...(ports === null ? {} : { port_range_min: ports.from, port_range_max: ports.to }),
  remote_ip_prefix: source,
});

/** Neutron may omit values that mean "any". */
const keyOf = (rule: Rule): string =>
  [
    rule.protocol ?? 'any',
    rule.port_range_min ?? '',
    rule.port_range_max ?? '',
    rule.remote_group_id ?? rule.remote_ip_prefix ?? '0.0.0.0/0',
  ].join('|');

/** The security group of all machines of a connection, whose tags also store deleted incarnations. */
export class CloudFirewalls {
  constructor(private readonly neutron: CloudCalls) {}

  async ensure({ name, rules }: Firewall): Promise<Firewall> {
    const group = (await this.named(name)) ?? (await this.make(name));
    // All traffic between members is allowed: VRRP, IP in IP and other protocols of pod networks have no ports.
    const desired = [...rules.map(ruleOf), { protocol: null, remote_group_id: group.id }];
    const ingress = group.security_group_rules.filter(({ direction }) => direction === 'ingress');
    const [wanted, there] = [desired, ingress].map((all) => new Set(all.map(keyOf)));
    for (const rule of desired.filter((one) => !there!.has(keyOf(one)))) await this.addRule(group.id, rule);
    // Removed if they differ, because an earlier release may have opened more ports.
    for (const { id } of ingress.filter((one) => !wanted!.has(keyOf(one))))
      await this.neutron.delete(`/security-group-rules/${id}`);
    return { name, rules };
  }

  async named(name: string): Promise<answers.SecurityGroup | undefined> {
    return (await this.own()).find((group) => group.name === name);
  }

  /** The security group of the connection, whatever its name. */
  async shared(): Promise<answers.SecurityGroup> {
    const [group] = await this.own();
    if (group === undefined) throw this.neutron.failure('the security group of the connection is gone');
    return group;
  }

  /** Whether the incarnation was deleted, even if requests for it are still in progress. */
  async isGone(uid: string): Promise<boolean> {
    return (await this.own()).some(({ tags }) => goneIn(tags).some((gone) => gone.uid === uid));
  }

  async rememberGone(uid: string): Promise<void> {
    const now = Date.now();
    const isOver = ({ day }: Gone): boolean => now - Date.parse(day) > GONE_DAYS * DAY_MS;
    for (const { id, tags } of await this.own()) {
      const path = (tag: string): string => `/security-groups/${id}/tags/${encodeURIComponent(tag)}`;
      const gone = goneIn(tags);
      for (const { tag } of gone.filter(isOver)) await this.neutron.delete(path(tag));
      if (gone.some((one) => one.uid === uid)) continue;
      await this.neutron.put(path(goneTag(uid, new Date(now).toISOString().slice(0, 10))), undefined, answers.Anything);
    }
  }

  private get mark(): string {
    return sharedMark(this.neutron.session.at.connection);
  }

  private async own(): Promise<readonly answers.SecurityGroup[]> {
    const path = `/security-groups?description=${encodeURIComponent(this.mark)}`;
    const found = await this.neutron.list(path, 'security_groups', answers.SecurityGroup);
    return found.filter(({ description }) => description === this.mark);
  }

  private async make(name: string): Promise<answers.SecurityGroup> {
    const body = { security_group: { name, description: this.mark } };
    return (await this.neutron.post('/security-groups', body, answers.OneSecurityGroup)).security_group;
  }

  private async addRule(group: string, rule: Rule): Promise<void> {
    const body = {
      security_group_rule: { security_group_id: group, direction: 'ingress', ethertype: 'IPv4', ...rule },
    };
    await this.neutron.post('/security-group-rules', body, answers.Anything);
  }
}
