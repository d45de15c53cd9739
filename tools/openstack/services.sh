#!/bin/bash
# Starts OpenStack's own services of Debian 12 inside their root file system, in a network namespace that has its loopback device alone:
# Keystone, Placement, Nova, Neutron and Glance. What is simulated: the hypervisor (Nova's fake driver: a server is a row, nothing boots)
# and the wiring of ports (Neutron's test mechanism driver binds them, no packet flows). Ends when its standard input does.
set -e
export HOME=/root PYTHONWARNINGS=ignore LC_ALL=C.UTF-8
L=/var/log/openstack
S=/srv/openstack
mkdir -p $L $S
say() { echo "openstack: $*" >&2; }
until_answers() { for _ in $(seq 1 240); do curl -s -o /dev/null "$1" && return 0; sleep 0.5; done; say "$1 does not answer"; tail -n 30 $L/*.out >&2; exit 1; }

grep -q localhost /etc/hosts || echo '127.0.0.1 localhost' >>/etc/hosts
grep -q " $(hostname)\$" /etc/hosts || echo "127.0.0.1 $(hostname)" >>/etc/hosts

rabbit="HOME=/var/lib/rabbitmq RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 ERL_EPMD_ADDRESS=127.0.0.1 RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 1:1'"
su -s /bin/sh rabbitmq -c "$rabbit exec /usr/lib/rabbitmq/bin/rabbitmq-server" >$L/rabbit.out 2>&1 &
mkdir -p /run/mysqld
chown mysql /run/mysqld
fresh=no
if [ ! -d $S/db/mysql ]; then
  fresh=yes
  mkdir -p $S/db
  chown mysql $S/db
  mysql_install_db --user=mysql --datadir=$S/db --skip-test-db >$L/mariadb.install.out 2>&1
fi
mariadbd --user=mysql --datadir=$S/db --bind-address=127.0.0.1 --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0 --skip-log-bin --max-connections=300 >$L/mariadb.out 2>&1 &
for _ in $(seq 1 120); do mysql -e 'select 1' >/dev/null 2>&1 && break; sleep 0.5; done

if [ $fresh = yes ]; then
  for d in keystone placement nova_api nova_cell0 nova_cell1 neutron glance; do mysql -e "create database $d"; done
  mysql -e "create user os@'127.0.0.1' identified by 'pw'; grant all on *.* to os@'127.0.0.1'"
fi
db() { echo "mysql+pymysql://os:pw@127.0.0.1/$1"; }
auth() {
  cat <<C
auth_url=http://127.0.0.1:5000
www_authenticate_uri=http://127.0.0.1:5000
auth_type=password
project_domain_name=Default
user_domain_name=Default
project_name=service
username=$1
password=pw
region_name=RegionOne
C
}
cat >$S/keystone.conf <<C
[DEFAULT]
log_file=$L/keystone.log
[database]
connection=$(db keystone)
[fernet_tokens]
key_repository=$S/fernet
[credential]
key_repository=$S/credential
C
cat >$S/placement.conf <<C
[placement_database]
connection=$(db placement)
[api]
auth_strategy=keystone
[keystone_authtoken]
$(auth placement)
C
cat >$S/nova.conf <<C
[DEFAULT]
log_dir=$L
state_path=$S/nova
my_ip=127.0.0.1
host=host-ovs-filter-active
transport_url=rabbit://guest:guest@127.0.0.1:5672/
compute_driver=fake.FakeDriver
enabled_apis=osapi_compute
osapi_compute_listen=127.0.0.1
osapi_compute_workers=1
rpc_response_timeout=120
[conductor]
workers=1
[scheduler]
workers=1
[api_database]
connection=$(db nova_api)
[database]
connection=$(db nova_cell1)
[keystone_authtoken]
$(auth nova)
[placement]
$(auth placement)
[neutron]
$(auth nova)
[glance]
api_servers=http://127.0.0.1:9292
[oslo_concurrency]
lock_path=$S/nova/lock
C
cat >$S/neutron.conf <<C
[DEFAULT]
log_dir=$L
core_plugin=ml2
service_plugins=router
bind_host=127.0.0.1
api_workers=1
rpc_workers=0
rpc_state_report_workers=0
transport_url=rabbit://guest:guest@127.0.0.1:5672/
notify_nova_on_port_status_changes=false
notify_nova_on_port_data_changes=false
dhcp_agent_notification=false
[ml2]
type_drivers=local
tenant_network_types=local
mechanism_drivers=test
extension_drivers=port_security
[database]
connection=$(db neutron)
[keystone_authtoken]
$(auth neutron)
[oslo_concurrency]
lock_path=$S/neutron/lock
C
cat >$S/glance.conf <<C
[DEFAULT]
log_file=$L/glance.log
bind_host=127.0.0.1
workers=0
enabled_backends=files:file
[glance_store]
default_backend=files
[files]
filesystem_store_datadir=$S/images
[os_glance_staging_store]
filesystem_store_datadir=$S/glance-staging
[os_glance_tasks_store]
filesystem_store_datadir=$S/glance-tasks
[database]
connection=$(db glance)
[keystone_authtoken]
$(auth glance)
[paste_deploy]
flavor=keystone
config_file=/etc/glance/glance-api-paste.ini
C
mkdir -p $S/fernet $S/credential $S/nova $S/neutron $S/images $S/glance-staging $S/glance-tasks
K="--config-file $S/keystone.conf" N="--config-file $S/nova.conf" P="--config-file $S/placement.conf" G="--config-file $S/glance.conf" Q="--config-file $S/neutron.conf"
if [ $fresh = yes ]; then
  say 'making the databases'
  (
    keystone-manage $K db_sync
    keystone-manage $K fernet_setup --keystone-user root --keystone-group root
    keystone-manage $K credential_setup --keystone-user root --keystone-group root
    keystone-manage $K bootstrap --bootstrap-password pw --bootstrap-region-id RegionOne \
      --bootstrap-admin-url http://127.0.0.1:5000/v3 --bootstrap-internal-url http://127.0.0.1:5000/v3 --bootstrap-public-url http://127.0.0.1:5000/v3
  ) >$L/keystone.sync.out 2>&1 &
  one=$!
  (
    nova-manage $N api_db sync
    nova-manage $N cell_v2 map_cell0 --database_connection "$(db nova_cell0)"
    nova-manage $N cell_v2 create_cell --name cell1
    nova-manage $N db sync
  ) >$L/nova.sync.out 2>&1 &
  two=$!
  placement-manage $P db sync >$L/placement.sync.out 2>&1
  glance-manage $G db_sync >$L/glance.sync.out 2>&1
  neutron-db-manage --config-file $S/neutron.conf upgrade heads >$L/neutron.sync.out 2>&1
  wait $one
  wait $two
fi
say 'starting'
OS_KEYSTONE_CONFIG_FILES=$S/keystone.conf keystone-wsgi-public --host 127.0.0.1 --port 5000 >$L/keystone.out 2>&1 &
until_answers http://127.0.0.1:5000/v3
[ $fresh = no ] || python3 /opt/openstack/setup.py identity
OS_PLACEMENT_CONFIG_DIR=$S placement-api --host 127.0.0.1 --port 8778 >$L/placement.out 2>&1 &
glance-api $G >$L/glance.out 2>&1 &
neutron-server $Q --config-file /etc/neutron/plugins/ml2/ml2_conf.ini --config-file $S/neutron.conf >$L/neutron.out 2>&1 &
for _ in $(seq 1 240); do (echo >/dev/tcp/127.0.0.1/5672) 2>/dev/null && break; sleep 0.5; done
nova-conductor $N >$L/nova-conductor.out 2>&1 &
nova-scheduler $N >$L/nova-scheduler.out 2>&1 &
nova-api $N >$L/nova-api.out 2>&1 &
/usr/bin/python3 -c "import sys; sys.argv=['nova-compute','--config-file','$S/nova.conf']; from nova.cmd.compute import main; main()" >$L/nova-compute.out 2>&1 &
until_answers http://127.0.0.1:8778
until_answers http://127.0.0.1:9292
until_answers http://127.0.0.1:9696
until_answers http://127.0.0.1:8774
for _ in $(seq 1 60); do nova-manage $N cell_v2 discover_hosts --verbose 2>/dev/null | grep -qE 'Creating host mapping|Found 0 unmapped' && [ "$(mysql -N -e 'select count(*) from nova_api.host_mappings')" != 0 ] && break; sleep 1; done
[ $fresh = no ] || python3 /opt/openstack/setup.py project
say 'ready'
cat $S/access.json
exec cat >/dev/null
