import * as z from 'zod';
import { ApplicationProblem, ApplicationSettings, ApplicationVersion, SCHEMA_BYTES_MAX } from '../application.js';
import { ApplicationName } from '../ids.js';
import { defineEvent } from './definition.js';

const MESSAGE_LENGTH_MAX = 4_000;

const ofInstallation = { writer: 'gateway', context: 'request', scope: 'installation' } as const;
const ofCatalogue = { writer: 'infra-svc', context: 'catalogue-<application>' } as const;

const registration = z.string().describe('The ApplicationRegistered that it was synchronized for');

/** The catalogue of applications: what is registered, and what infra-svc found in the repositories. */
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
    doc: 'The catalogue has this application no more.',
    data: z.strictObject({ name: ApplicationName }),
  }),
  ApplicationVersionAdded: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'The repository has this version, and its archive is the one that the index names; it replaces one of the same version.',
    data: z.strictObject({
      application: ApplicationName,
      ...ApplicationVersion.shape,
      schema: z
        .string()
        .max(SCHEMA_BYTES_MAX)
        .nullable()
        .describe('values.schema.json as compact JSON; null: the chart has none'),
    }),
  }),
  ApplicationVersionRemoved: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'The catalogue has this version no more: it is outside the range or the number of versions, or gone.',
    data: z.strictObject({ application: ApplicationName, version: ApplicationVersion.shape.version }),
  }),
  ApplicationSynchronized: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'The catalogue has these versions, and all that were to be kept; stated only when something is different.',
    data: z.strictObject({
      application: ApplicationName,
      registration,
      versions: z.array(ApplicationVersion.shape.version).describe('Newest first'),
    }),
  }),
  ApplicationNotSynchronized: defineEvent({
    version: 1,
    ...ofCatalogue,
    doc: 'Some or all versions could not be taken over; stated again when the reason is another one.',
    data: z.strictObject({
      application: ApplicationName,
      registration,
      reason: ApplicationProblem,
      message: z.string().max(MESSAGE_LENGTH_MAX),
    }),
  }),
} as const;
