import { f1Expiring, type CertificateView } from '@fairlead/contracts';
import { CLOCK, DATABASE, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { DataSource } from 'typeorm';
import { clusterKey } from '../common/cluster.address.js';
import { certificateViews, type CertificatesDoc } from './certificates.projection.js';

@Injectable()
export class CertificateQueries {
  constructor(
    @Inject(DATABASE) private readonly database: DataSource,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Those of this incarnation of the cluster; those that end first come first. */
  async all(namespace: string, cluster: string, uid: string): Promise<CertificateView[]> {
    const rows = await this.database.query<{ doc: CertificatesDoc }[]>(
      `select doc from certificates where cluster_key = $1 and doc->>'uid' = $2`,
      [clusterKey(namespace, cluster), uid],
    );
    return certificateViews(
      rows.map(({ doc }) => doc),
      this.clock.now().getTime(),
    );
  }

  /** Whether any of them has to be renewed now (rule F1). */
  async expire(namespace: string, cluster: string, uid: string): Promise<boolean> {
    const reported = await this.all(namespace, cluster, uid);
    return f1Expiring(reported, this.clock.now().toISOString()).length > 0;
  }
}
