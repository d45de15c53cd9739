import * as z from 'zod';
import { ApplicationProblem, ApplicationSettings, ApplicationVersion, SCHEMA_BYTES_MAX } from '../application.js';
import { ApplicationName } from '../ids.js';
import { defineEvent } from './definition.js';

const MESSAGE_LENGTH_MAX = 4_000;

const ofInstallation = { writer: 'gateway', context: 'request', scope: 'installation' } as const;
const ofCatalogue = { writer: 'infra-svc', context: 'catalogue-<application>' } as const;

const registration = z.string().describe('The ApplicationRegistered that it was synchronized for');

/** The catalogue of applications: registrations, and what infra-svc found in the repositories. */
export const applicationEvents = {
  ApplicationRegistered: defineEvent({
    version: 1,
    ...ofInstallation,
    doc: 'The catalogue has this application, with versions of a chart; registering it again replaces its settings.',
    data: z.strictObject({ name: ApplicationName, ...ApplicationSettings.shape }),
  }),
  ApplicationSyncRequested: defineEvent({
    version: 1,
    ...ofInstallation,
    doc: 'infra-svc reads the repository of the application now.',
    data: z.strictObject({ name: ApplicationName }),
  }),
  ApplicationRemoved: defineEvent({
    version: 1,
    ...ofInstallation,
    doc: 'The catalogue no longer has this application.',
    data: z.strictObject({ name: ApplicationName }),
  }),
  ApplicationVersionAdded: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'The repository has this version, and its archive matches the index; it replaces an earlier archive of the same version.',
    data: z.strictObject({
      application: ApplicationName,
      ...ApplicationVersion.shape,
      url: z
        .string()
        .max(2_048)
        .optional()
        .describe(
          'Where the archive is; absent: in events of earlier releases, and where the URL has a query, which may be a secret',
        ),
      schema: z
        .string()
        .max(SCHEMA_BYTES_MAX)
        .nullable()
        .describe('values.schema.json as compact JSON; null: the chart has none'),
      uiSchema: z
        .string()
        .max(SCHEMA_BYTES_MAX)
        .optional()
        .describe('azimuth-ui.schema.yaml as compact JSON; absent: the chart has none'),
    }),
  }),
  ApplicationVersionRemoved: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'The catalogue no longer has this version: it is outside the range or the number of versions, or was deleted from the repository.',
    data: z.strictObject({ application: ApplicationName, version: ApplicationVersion.shape.version }),
  }),
  ApplicationSynchronized: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'The catalogue has these versions, which are all that are kept; recorded only when something changes.',
    data: z.strictObject({
      application: ApplicationName,
      registration,
      versions: z.array(ApplicationVersion.shape.version).describe('Newest first'),
    }),
  }),
  ApplicationNotSynchronized: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'Some or all versions could not be imported; recorded again when the reason changes.',
    data: z.strictObject({
      application: ApplicationName,
      registration,
      reason: ApplicationProblem,
      message: z.string().max(MESSAGE_LENGTH_MAX),
    }),
  }),
} as const;
