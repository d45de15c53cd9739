import * as z from 'zod';
import { ApplicationName, SecretRef } from './ids.js';
import { paged } from './views/list.views.js';
import { time } from './views/time.js';

export const APPLICATIONS_MAX = 100;
export const APPLICATION_VERSIONS_MAX = 20;
const VERSIONS_KEPT = 5;

/** Each schema is an event, and a form cannot use a larger one. */
export const SCHEMA_BYTES_MAX = 131_072;

const URL_LENGTH_MAX = 512;
const CHART_LENGTH_MAX = 250;
const RANGE_LENGTH_MAX = 200;
const LABEL_LENGTH_MAX = 100;
const DESCRIPTION_LENGTH_MAX = 1_000;
const CA_LENGTH_MAX = 32_768;
export const CHART_VERSION_LENGTH_MAX = 128;

const REPOSITORY = /^(https|oci):\/\/([A-Za-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?(\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?$/;
const HTTPS = /^https:\/\/\S+$/;
const CHART = /^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/;
const CERTIFICATES = /^\s*(-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+$/;
/** No control characters. */
const PLAIN = /^[^\x00-\x1f\x7f-\x9f]*$/u;

/** Owner of the key that seals passwords of chart repositories. */
export const APPLICATION_SECRETS_OWNER = 'applications';

export const applicationSecretRef = (application: string): SecretRef =>
  SecretRef.parse(`gateway.application.${application}`);

const USERNAME_LENGTH_MAX = 200;
const PASSWORD_LENGTH_MAX = 8_192;

const plain = (max: number) => z.string().max(max).regex(PLAIN, 'must have no control characters');

/** The settings of an application in the catalogue. */
export const ApplicationSettings = z.strictObject({
  repository: z
    .string()
    .max(URL_LENGTH_MAX)
    .regex(REPOSITORY, 'must be an https or oci URL without user, query and fragment')
    .describe(
      'A Helm chart repository: the https URL below which its index.yaml is, or the oci URL of a registry with the path of its charts',
    )
    .meta({ examples: ['https://charts.example.org'] }),
  chart: z
    .string()
    .max(CHART_LENGTH_MAX)
    .regex(CHART, 'must be the name of a chart')
    .describe('The chart in that repository'),
  range: z
    .string()
    .min(1)
    .max(RANGE_LENGTH_MAX)
    .regex(PLAIN, 'must have no control characters')
    .describe('Which versions: a range of semantic versions')
    .meta({ examples: ['>=8.0.0 <9.0.0'] }),
  keep: z.int().min(1).max(APPLICATION_VERSIONS_MAX).describe('How many of them, the newest first'),
  ca: z
    .string()
    .max(CA_LENGTH_MAX)
    .regex(CERTIFICATES, 'must be certificates in PEM, and nothing else')
    .optional()
    .describe('Authorities that the certificate of the repository is checked with, in PEM. Left out: public ones'),
  username: plain(USERNAME_LENGTH_MAX)
    .min(1)
    .optional()
    .describe('Of the repository; its password is sealed. Left out: it needs none'),
  label: plain(LABEL_LENGTH_MAX).describe('Display name'),
  description: plain(DESCRIPTION_LENGTH_MAX),
  icon: z
    .union([z.literal(''), z.string().max(URL_LENGTH_MAX).regex(HTTPS, 'must be an https URL')])
    .describe('URL of a picture; it is not fetched. Empty: none'),
});
export type ApplicationSettings = z.infer<typeof ApplicationSettings>;

export const APPLICATION_PROBLEMS = [
  'RepositoryUnreachable',
  'IndexInvalid',
  'NoMatchingVersion',
  'ArchiveInvalid',
  'DigestMismatch',
] as const;
/** Why an application is not synchronized. */
export const ApplicationProblem = z
  .enum(APPLICATION_PROBLEMS)
  .describe(
    'RepositoryUnreachable: it does not answer; IndexInvalid: its index cannot be read, or is too large; NoMatchingVersion: no version is in the range; ArchiveInvalid: an archive is not one of the chart, or is too large; DigestMismatch: an archive does not have the digest of the index',
  );
export type ApplicationProblem = z.infer<typeof ApplicationProblem>;

export const ChartDigest = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .describe('SHA-256 of the archive');

export const ApplicationVersion = z.strictObject({
  version: z.string().min(1).max(CHART_VERSION_LENGTH_MAX).describe('Of the chart'),
  digest: ChartDigest,
  appVersion: plain(CHART_VERSION_LENGTH_MAX).describe('Of what the chart installs; empty: it does not say'),
});
export type ApplicationVersion = z.infer<typeof ApplicationVersion>;

export const ApplicationPath = z.object({ application: ApplicationName });
export type ApplicationPath = z.infer<typeof ApplicationPath>;

export const ApplicationVersionPath = z.object({
  application: ApplicationName,
  version: z.string().min(1).max(CHART_VERSION_LENGTH_MAX),
});
export type ApplicationVersionPath = z.infer<typeof ApplicationVersionPath>;

export const ApplicationRequest = z
  .strictObject({
    ...ApplicationSettings.shape,
    keep: ApplicationSettings.shape.keep.default(VERSIONS_KEPT),
    password: z
      .string()
      .min(1)
      .max(PASSWORD_LENGTH_MAX)
      .optional()
      .describe('Required with username; it is sealed and never shown again'),
    label: ApplicationSettings.shape.label.default('').describe('Display name; empty: its name'),
    description: ApplicationSettings.shape.description.default(''),
    icon: ApplicationSettings.shape.icon.default(''),
  })
  .refine(({ username, password }) => (username === undefined) === (password === undefined), {
    message: 'must have username and password together',
    path: ['password'],
  })
  .meta({ id: 'ApplicationRequest', description: 'Where the versions of an application come from, and which ones' });
export type ApplicationRequest = z.infer<typeof ApplicationRequest>;

export const ApplicationView = z
  .strictObject({
    kind: z.literal('Application'),
    name: z.string(),
    repository: z.string(),
    chart: z.string(),
    range: z.string().describe('The range of versions that was registered'),
    keep: z.int(),
    username: z.string().optional().describe('Of the repository; absent: it needs none'),
    label: z.string(),
    description: z.string(),
    icon: z.string(),
    registeredTime: time.describe('When it was registered first'),
    state: z
      .enum(['Unknown', 'Synchronized', 'NotSynchronized'])
      .describe('As infra-svc found it last; Unknown: not yet since it was registered'),
    reason: z.string().describe('Why it is not synchronized; empty: it is, or that is not known'),
    message: z.string().describe('The same in words'),
    changedTime: time.nullable().describe('Since when; null: that is not known'),
    versions: z.array(ApplicationVersion).describe('Newest first'),
  })
  .meta({ id: 'Application', description: 'An application of the catalogue' });
export type ApplicationView = z.infer<typeof ApplicationView>;

export const ApplicationList = z
  .strictObject({ kind: z.literal('ApplicationList'), items: z.array(ApplicationView), ...paged })
  .meta({ id: 'ApplicationList' });
export type ApplicationList = z.infer<typeof ApplicationList>;

export const ApplicationVersionView = z
  .strictObject({
    kind: z.literal('ApplicationVersion'),
    application: z.string(),
    ...ApplicationVersion.shape,
    schema: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('JSON Schema of the values of the chart (values.schema.json); null: it has none'),
    uiSchema: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe('How forms show the values (azimuth-ui.schema.yaml of the chart); null: it has none'),
  })
  .meta({ id: 'ApplicationVersion', description: 'A version of an application, with the schema of its values' });
export type ApplicationVersionView = z.infer<typeof ApplicationVersionView>;
