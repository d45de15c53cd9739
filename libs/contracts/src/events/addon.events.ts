import * as z from 'zod';
import { ApplicationVersion } from '../application.js';
import { Cause } from '../failures.js';
import { ClusterUid, PoolName } from '../ids.js';
import { defineEvent } from './definition.js';

const PROBLEMS_MAX = 20;
const PROBLEM_LENGTH_MAX = 500;

const declaration = z.string().min(1).max(100).describe('The ClusterSpecChanged that declared it as it is declared');
const about = { uid: ClusterUid, addon: PoolName };
const of = { ...about, declaration };
const version = ApplicationVersion.shape.version.describe('Of its chart; of manifests: 0.0.0');

const fact = <Data extends z.ZodType>(doc: string, data: Data) =>
  defineEvent({ version: 1, writer: 'bootstrap-svc', context: 'addons', doc, data });

/** Declared add-ons of a cluster, each a Helm release. */
export const addonEvents = {
  AddonRequested: fact(
    'The add-on is declared, or declared otherwise, and is installed when everything that it waits for exists.',
    z.strictObject(of),
  ),
  AddonPreparing: fact(
    'Everything that the add-on waits for exists: its chart and its values are fetched.',
    z.strictObject(of),
  ),
  AddonInstalling: fact('The add-on is being installed for the first time.', z.strictObject({ ...of, version })),
  AddonUpgrading: fact(
    'The release of the add-on is being changed to what is declared.',
    z.strictObject({ ...of, version }),
  ),
  AddonDeployed: fact(
    'The release of the add-on is as declared. The revision stays when nothing had to be changed.',
    z.strictObject({
      ...of,
      version,
      revision: z.int().min(1).describe('Of its release'),
      secrets: z
        .record(PoolName, z.string().max(100))
        .optional()
        .describe('The AddonSecretSet that set the sealed values which it got, by their names; absent: it got none'),
    }),
  ),
  AddonFailed: fact(
    'The add-on could not be installed, upgraded or uninstalled; it is tried again at nextAttemptAt, unless that is null.',
    z.strictObject({
      ...of,
      cause: Cause,
      attempt: z.int().min(1),
      attemptsMax: z.int().min(1),
      nextAttemptAt: z.iso.datetime().nullable(),
    }),
  ),
  AddonDrifted: fact(
    'The release of the add-on was changed or deleted outside Fairlead. It is repaired, unless its policy is report.',
    z.strictObject({
      ...of,
      problems: z.array(z.string().max(PROBLEM_LENGTH_MAX)).min(1).max(PROBLEMS_MAX),
      repair: z.boolean(),
    }),
  ),
  AddonUninstalling: fact('The add-on is no longer declared, and is being uninstalled.', z.strictObject(about)),
  AddonUninstalled: fact(
    'The add-on and every object that its release installed are gone from the cluster.',
    z.strictObject(about),
  ),
} as const;
