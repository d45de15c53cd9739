import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { EC2_ACTIONS, ELB_ACTIONS } from './aws.sdk.js';
import { documentedPolicy, permittedActions } from './policy.fixtures.js';

/** What AWS asks for besides the actions themselves. */
const IMPLIED = [
  'elasticloadbalancing:AddTags', // Tags of a creation.
  'iam:CreateServiceLinkedRole', // The first load balancer, and the first spot instance, of an account.
];

it('the policy in docs/aws.md permits exactly the actions that are called', () => {
  const called = [
    ...Object.keys(EC2_ACTIONS).map((name) => `ec2:${name}`),
    ...Object.keys(ELB_ACTIONS).map((name) => `elasticloadbalancing:${name}`),
  ];
  expect([...permittedActions()].sort()).toEqual([...called, ...IMPLIED].sort());
});

it('the policy deletes and changes only what Fairlead has tagged', () => {
  const CHANGES = /:(?:Delete|Terminate|Revoke|Modify|Deregister|Register)/;
  const unconditional = documentedPolicy().filter(
    ({ Action, Condition }) => Action.some((action) => CHANGES.test(action)) && Condition === undefined,
  );
  expect(unconditional).toEqual([]);
});

it('the SDK is loaded only by an import at run time', () => {
  const folder = new URL('.', import.meta.url);
  const sources = readdirSync(folder).filter((name) => !/\.(?:spec|features|fixtures)\.ts$/.test(name));
  const importing = sources.filter((name) =>
    readFileSync(new URL(name, folder), 'utf8')
      .split('\n')
      .some((line) => /^import (?!type ).*(?:aws\.sdk\.js|@aws-sdk\/)/.test(line)),
  );
  expect(importing).toEqual(['aws.sdk.ts']);
});
