import {
  SCHEMA_BYTES_MAX,
  type ApplicationVersion,
  type ApplicationVersionView,
  type ApplicationView,
} from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { applicationView, versionKey, type ApplicationDoc } from './applications.projection.js';

/** infra-svc has checked that it is the JSON of an object. */
export const parseSchema = (text: string | null): Record<string, unknown> | null =>
  text === null ? null : (parseJson(text, { lengthMax: SCHEMA_BYTES_MAX }) as Record<string, unknown>);

interface Row {
  readonly key: string;
  readonly doc: ApplicationDoc;
}

const viewsOf = ({ key, doc }: Row): readonly ApplicationView[] =>
  doc.registered === null ? [] : [applicationView(key, doc.registered, doc)];

@Injectable()
export class ApplicationQueries {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  /** By name. */
  async all(): Promise<readonly ApplicationView[]> {
    return (await this.database.query<Row[]>('select key, doc from applications order by key')).flatMap(viewsOf);
  }

  async one(name: string): Promise<ApplicationView | undefined> {
    const rows = await this.database.query<Row[]>('select key, doc from applications where key = $1', [name]);
    return rows.flatMap(viewsOf)[0];
  }

  async version(application: string, version: string): Promise<ApplicationVersionView | undefined> {
    const [row] = await this.database.query<
      { doc: ApplicationVersion & { readonly schema: string | null; readonly uiSchema?: string } }[]
    >('select doc from application_versions where key = $1', [versionKey(application, version)]);
    if (row === undefined) return undefined;
    const { schema, uiSchema = null, version: name, digest, appVersion } = row.doc;
    const about = { kind: 'ApplicationVersion', application, version: name, digest, appVersion } as const;
    return { ...about, schema: parseSchema(schema), uiSchema: parseSchema(uiSchema) };
  }
}
