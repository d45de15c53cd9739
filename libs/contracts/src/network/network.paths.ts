/** Where the network configuration of a node is on its host. */
export const NETWORK_PATHS = {
  firewall: {
    /** Loaded at boot, and when a change is taken back. */
    confirmed: '/var/lib/fairlead/firewall/confirmed.nft',
    /** There from before a change until it is confirmed or taken back. */
    trial: '/var/lib/fairlead/firewall/trial.nft',
    reverted: '/var/lib/fairlead/firewall/reverted.nft',
    /** What nft listed after the confirmed rules were loaded. */
    listed: '/var/lib/fairlead/firewall/listed.nft',
    undo: '/opt/fairlead/firewall-undo',
    unit: '/etc/systemd/system/fairlead-firewall.service',
  },
  /** Addresses from which Fairlead has connected by SSH, one a line, the latest last. */
  sshClients: '/etc/fairlead/ssh-clients',
  sshd: '/etc/ssh/sshd_config.d/00-fairlead.conf',
} as const;

/** The table of Fairlead; those of kube-proxy, of CNIs and of the host's owner are left as they are. */
export const NFT_TABLE = 'inet fairlead';
export const FIREWALL_UNIT = 'fairlead-firewall.service';
/** The timer that takes a change back. */
export const FIREWALL_UNDO_UNIT = 'fairlead-firewall-undo';
/** No more addresses of Fairlead than these count: the latest. */
export const SSH_CLIENTS_MAX = 16;
