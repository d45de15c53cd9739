import type { Declared } from '@fairlead/domain';
import { DATABASE } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';

export interface ManifestRow {
  /** `<namespace>/<cluster>`. */
  readonly key: string;
  readonly doc: Declared;
}

/** Clusters that are not as declared. */
@Injectable()
export class UnmetManifests {
  constructor(@Inject(DATABASE) private readonly database: DataSource) {}

  all(): Promise<readonly ManifestRow[]> {
    return this.database.query<ManifestRow[]>(
      `select key, doc from manifests where doc ?| '{unmet,denied,stopped}' order by key`,
    );
  }
}
