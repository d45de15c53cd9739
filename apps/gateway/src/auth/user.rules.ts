import { RoleGrant } from '@fairlead/contracts';
import * as z from 'zod';

/** What members of a group of the identity provider may do here. */
export interface GroupRoles {
  readonly group: string;
  readonly roles: readonly RoleGrant[];
}

/** A user as the identity provider describes it. */
export interface User {
  readonly subject: string;
  readonly name: string;
  /** Only those that give roles. */
  readonly groups: readonly string[];
}

/** Where the claims of a token have what Fairlead reads. */
export interface UserClaims {
  readonly usernameClaim: string;
  readonly groupsClaim: string;
  readonly groupRoles: readonly GroupRoles[];
}

const SUBJECT_LENGTH_MAX = 255;
const NAME_LENGTH_MAX = 63;
const GROUPS_MAX = 1_000;
const GROUP_ROLES_MAX = 1_000;

const grantOf = (text: string): RoleGrant | undefined => {
  const [namespace, role, ...rest] = text.split('=');
  return rest.length === 0 ? RoleGrant.safeParse({ namespace, role }).data : undefined;
};

const RULE = /^(\S(?:.*\S)?)\s+(\S+)$/;

const groupRolesOf = (rule: string): GroupRoles | undefined => {
  const [, group = '', given = ''] = RULE.exec(rule) ?? [];
  const roles = given.split(',').map(grantOf);
  return group === '' || roles.includes(undefined) ? undefined : { group, roles: roles as readonly RoleGrant[] };
};

/** `/admins *=admin; /team-a team-a=operator,default=viewer`. Returns the rules that are none as `faults`. */
export const parseGroupRoles = (
  text: string,
): { readonly groupRoles: readonly GroupRoles[]; readonly faults: readonly string[] } => {
  const rules = text
    .split(';')
    .map((rule) => rule.trim())
    .filter((rule) => rule !== '')
    .slice(0, GROUP_ROLES_MAX);
  const parsed = rules.map((rule) => ({ rule, read: groupRolesOf(rule) }));
  return {
    groupRoles: parsed.flatMap(({ read }) => read ?? []),
    faults: parsed.flatMap(({ rule, read }) => (read === undefined ? [rule] : [])),
  };
};

/** Control characters, bidirectional marks and other invisible ones, as in names of tokens. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/u;

const Name = z
  .string()
  .min(1)
  .max(NAME_LENGTH_MAX)
  .refine((name) => !INVISIBLE.test(name) && name.trim() === name);
const Subject = z.string().min(1).max(SUBJECT_LENGTH_MAX);

/** The groups that a claim names; a single one may stand without a list. */
const groupsIn = (claim: unknown): readonly string[] =>
  (Array.isArray(claim) ? claim.slice(0, GROUPS_MAX) : [claim]).filter((group) => typeof group === 'string');

/** The mapped groups in a claim; undefined: there is no such claim. */
export const mappedGroups = (claim: unknown, { groupRoles }: Pick<UserClaims, 'groupRoles'>): readonly string[] => {
  const named = new Set(groupsIn(claim));
  return [...new Set(groupRoles.map(({ group }) => group))].filter((group) => named.has(group));
};

/** Who the claims of a verified token describe; undefined: no user, because there is no subject. A name that cannot be shown is the subject. */
export const userOf = (claims: Readonly<Record<string, unknown>>, reading: UserClaims): User | undefined => {
  const subject = Subject.safeParse(claims['sub']).data;
  if (subject === undefined) return undefined;
  const name = Name.safeParse(claims[reading.usernameClaim]).data ?? Name.safeParse(subject).data ?? 'unnamed';
  return { subject, name, groups: mappedGroups(claims[reading.groupsClaim], reading) };
};

/** What the groups may do, each role once. */
export const rolesOf = (
  groups: readonly string[],
  { groupRoles }: Pick<UserClaims, 'groupRoles'>,
): readonly RoleGrant[] => {
  const roles = groupRoles.filter(({ group }) => groups.includes(group)).flatMap((rule) => rule.roles);
  return roles.filter(
    ({ namespace, role }, at) => roles.findIndex((one) => one.namespace === namespace && one.role === role) === at,
  );
};

/** Whether every role that was held before is still held. */
export const holdsStill = (before: readonly RoleGrant[], now: readonly RoleGrant[]): boolean =>
  before.every((grant) => now.some(({ namespace, role }) => namespace === grant.namespace && role === grant.role));
