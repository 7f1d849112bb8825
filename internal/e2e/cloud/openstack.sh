#!/bin/bash
# openstack.sh up DIR PORT [GUARDED-PID]   starts a minimal but real OpenStack on loopback, without systemd; what runs
#                                          already is left alone
# openstack.sh stop DIR SERVICE...         stops single services
# openstack.sh down DIR                    stops everything that up started there, and nothing else
#
# Keystone, Heat, Placement, Nova with the fake driver, Neutron (ml2, no agents), Glance, Cinder with the driver of its
# own tests, from Debian's python3-* packages. Everything it writes is under DIR: configuration, data, logs, DIR/pids/NAME. It uses the ports from PORT
# on. When the process GUARDED-PID ends, everything is stopped and DIR is removed.
set -euo pipefail
what=$1 S=$(realpath -m "$2")
WAIT=${WAIT:-180}
export PATH=/usr/sbin:/usr/bin:/sbin:/bin   # Debian's python3, never another one
export LC_ALL=C.UTF-8 no_proxy=127.0.0.1,localhost
unset PYTHONPATH "${!OS_@}"                 # (an OS_* left in the caller's shell)
say() { printf '%(%T)T %s\n' -1 "$*"; }

# ---------------------------------------------------------------- processes
# pids/NAME holds the pid and the process's start time: with both, neither a zombie nor a later
# process with the same pid is taken for ours (the environment or title would not do: neutron overwrites them)
born() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }'; }
alive() { local p t; read -r p t <"$S/pids/$1" && [ -n "$t" ] && [ "$(born "$p")" = "$t" ]; } 2>/dev/null
stop() { # NAME... : TERM to each one's process group, KILL to what is left of it after 5 s
  local n p t groups=()
  for n; do
    read -r p t 2>/dev/null <"$S/pids/$n" || continue
    rm "$S/pids/$n"
    [ -n "$t" ] && [ "$(born "$p")" = "$t" ] || continue # gone, or the pid is someone else's by now
    kill -TERM -- "-$p" && groups+=("$p")
  done
  for p in "${groups[@]}"; do
    for _ in {1..25}; do kill -0 -- "-$p" 2>/dev/null || continue 2; sleep 0.2; done
    kill -KILL -- "-$p" 2>/dev/null || true
  done
}
down() {
  stop nova-compute nova-api nova-scheduler nova-conductor neutron cinder glance placement heat keystone rabbit
  stop epmd mysql # last: the others still write to the database while they end
}
case $what in
stop) shift 2; stop "$@"; exit ;;
down) down; exit ;;
guard) # PID BORN UP-PID UP-BORN: ends all when the first process ends, that of "up" too if it still runs
  while [ -d "$S" ] && [ "$(born "$3")" = "$4" ]; do sleep 1; done
  [ "$(born "$5")" != "$6" ] || kill -KILL -- "-$5" || true
  down; rm -rf "$S"; exit ;;
esac

BASE=$3 PW=secret NOVA_HOST=testbed
KS=$BASE HEAT=$((BASE + 1)) NOVA=$((BASE + 2)) PLACEMENT=$((BASE + 3)) GLANCE=$((BASE + 4)) NEUTRON=$((BASE + 5))
AMQP=$((BASE + 6)) EPMD=$((BASE + 8)) # AMQP + 1 is RabbitMQ's own
CINDER=$((BASE + 9))
AUTH=http://127.0.0.1:$KS/v3
mkdir -p "$S"/{pids,logs,etc,lock}
if [ -n "${4-}" ]; then setsid bash "$0" guard "$S" "$4" "$(born "$4")" $$ "$(born $$)" >/dev/null 2>&1 </dev/null & fi

# start NAME CMD...: in a session of its own (pid = process group), unless it runs already
start() {
  local n=$1; shift
  alive "$n" && return
  (cd "$S" && exec setsid "$@" >>"$S/logs/$n" 2>&1 </dev/null) &
  echo "$! $(born $!)" >"$S/pids/$n"
}
# ready NAME CMD...: wait until CMD succeeds, at most $WAIT s, while NAME lives
ready() {
  local n=$1 end=$((SECONDS + WAIT)); shift
  until "$@" >/dev/null 2>&1; do
    alive "$n" && [ $SECONDS -lt $end ] || { say "$n is not up:" >&2; tail -20 "$S/logs/$n" >&2; return 1; }
    sleep 0.2
  done
}
get() { curl -sS -o /dev/null -m 5 "http://127.0.0.1:$1/"; }
# py NAME MODULE ARGS...: a console script, which the python3-* packages do not ship
py() { local n=$1 m=$2; shift 2; python3 -c "import sys; sys.argv[0]='$n'; from $m import main; sys.exit(main())" "$@"; }
startpy() { local n=$1 m=$2; shift 2; start "$n" python3 -c "import sys; sys.argv[0]='$n'; from $m import main; sys.exit(main())" "$@"; }
# once NAME CMD...: run CMD if it has not yet succeeded in this STATE_DIR
once() { local n=$1; shift; [ -e "$S/.done-$n" ] || { "$@" >>"$S/logs/$n" 2>&1 || { say "$n failed" >&2; tail -20 "$S/logs/$n" >&2; return 1; }; touch "$S/.done-$n"; }; }
sql() { mysql --no-defaults -uroot -S "$S/mysql.sock" "$@"; }
db() { echo "mysql+pymysql://root@localhost/$1?unix_socket=$S/mysql.sock&charset=utf8"; }
wsgi() { # NAME PORT MODULE:CALLABLE ; keystone and placement have no server of their own
  # Connection: close, as uwsgi closes without saying so and a client that reuses the connection is reset
  start "$1" uwsgi --plugin python3 --http-socket "127.0.0.1:$2" --module "$3" --master --die-on-term \
    --lazy-apps --enable-threads --processes 1 --threads 8 --listen 100 --buffer-size 65535 --post-buffering 65536 \
    --add-header 'Connection: close' --disable-logging
}
# The two sections each service needs to check tokens; no memcached, so tokens are cached in the process.
authtoken() { cat <<X
[keystone_authtoken]
www_authenticate_uri = $AUTH
$(creds "$1")
X
}
creds() { cat <<X
auth_type = password
auth_url = $AUTH
username = $1
password = $PW
project_name = service
user_domain_id = default
project_domain_id = default
region_name = RegionOne
X
}
dbopts() { cat <<X
[database]
connection = $(db "$1")
max_pool_size = 20
max_overflow = 50
[oslo_concurrency]
lock_path = $S/lock
X
}

# What a service looks up again and again (roles and projects of tokens, ids of flavors and networks) it keeps in its process, as
# clouds keep it in memcached.
cache() { cat <<X
[cache]
enabled = true
backend = oslo_cache.dict
X
}

# ---------------------------------------------------------------- MariaDB
# Not sqlite: heat-engine's green threads write at the same time and sqlite then answers
# "database is locked".  Socket only, nothing is synced to disk.  root, because STATE_DIR
# may be a directory that the user mysql cannot enter.
once mysql-install mariadb-install-db --no-defaults --user=root --datadir="$S/mysql" \
  --auth-root-authentication-method=normal --skip-test-db
start mysql mariadbd --no-defaults --user=root --datadir="$S/mysql" --socket="$S/mysql.sock" --pid-file="$S/mysql.pid" \
  --skip-networking --max-connections=1000 --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=nosync \
  --innodb-doublewrite=0 --character-set-server=utf8 --collation-server=utf8_general_ci
ready mysql sql -e 'select 1'
dbs="keystone heat nova_api nova nova_cell0 neutron placement glance cinder"
for d in $dbs; do echo "create database if not exists $d;"; done | sql

# ---------------------------------------------------------------- configuration
cat >"$S/etc/keystone.conf" <<X
[identity]
# 4 is the least bcrypt takes; the default (12) costs 0.3 s of CPU for each password
password_hash_rounds = 4
[token]
expiration = 86400
[fernet_tokens]
key_repository = $S/fernet
[fernet_receipts]
key_repository = $S/fernet
[credential]
key_repository = $S/credential
$(cache)
$(dbopts keystone)
X
cat >"$S/etc/heat.conf" <<X
[DEFAULT]
# heat-all runs API and engine in one process, so RPC needs no broker
transport_url = fake://
num_engine_workers = 1
auth_encryption_key = 0123456789abcdef0123456789abcdef
# users that heat makes itself (signals, wait conditions) live in this domain
stack_user_domain_name = heat
stack_domain_admin = heat_domain_admin
stack_domain_admin_password = $PW
region_name_for_services = RegionOne
max_resources_per_stack = -1
max_stacks_per_tenant = 10000
# how often Heat asks whether a server has a port, or has it no longer; 10 by default, which a Nova on busy cores may exceed
max_interface_check_attempts = 60
# goes into the user data of OS::Nova::Server; heat-api-cfn is not run, so it is not in the catalog
heat_metadata_server_url = http://127.0.0.1:1
environment_dir = $S/etc/heat-environment.d
template_dir = $S/etc/heat-templates
[heat_all]
enabled_services = engine,api
[heat_api]
bind_host = 127.0.0.1
bind_port = $HEAT
# 1 = in this process (0 would be one process per core, out of reach of fake://)
workers = 1
[paste_deploy]
api_paste_config = $S/etc/heat-paste.ini
[oslo_messaging_notifications]
driver = noop
[clients_keystone]
auth_uri = $AUTH
# whom a stack's owner trusts to act for them later; must not be scoped to a project
[trustee]
$(creds heat | grep -v ^project_)
$(authtoken heat)
$(cache)
$(dbopts heat)
X
mkdir -p "$S"/etc/heat-{environment.d,templates}
cat >"$S/etc/heat-paste.ini" <<'X'
[pipeline:heat-api]
pipeline = request_id faultwrap versionnegotiation authurl authtoken context apiv1app
[app:apiv1app]
paste.app_factory = heat.common.wsgi:app_factory
heat.app_factory = heat.api.openstack.v1:API
[filter:request_id]
paste.filter_factory = oslo_middleware.request_id:RequestId.factory
[filter:faultwrap]
paste.filter_factory = heat.common.wsgi:filter_factory
heat.filter_factory = heat.api.openstack:faultwrap_filter
[filter:versionnegotiation]
paste.filter_factory = heat.common.wsgi:filter_factory
heat.filter_factory = heat.api.openstack:version_negotiation_filter
[filter:authurl]
paste.filter_factory = heat.common.auth_url:filter_factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:context]
paste.filter_factory = heat.common.context:ContextMiddleware_filter_factory
X
{
cat >"$S/etc/placement.conf" <<X
[placement_database]
connection = $(db placement)
$(authtoken placement)
X
cat >"$S/etc/glance-api.conf" <<X
[DEFAULT]
bind_host = 127.0.0.1
bind_port = $GLANCE
workers = 0
enabled_backends = file:file
[glance_store]
default_backend = file
[file]
filesystem_store_datadir = $S/images
[paste_deploy]
flavor = keystone
config_file = $S/etc/glance-paste.ini
[oslo_messaging_notifications]
driver = noop
$(authtoken glance)
$(dbopts glance)
X
cat >"$S/etc/glance-paste.ini" <<'X'
[pipeline:glance-api-keystone]
pipeline = versionnegotiation authtoken context rootapp
[composite:rootapp]
paste.composite_factory = glance.api:root_app_factory
/: apiversions
/v2: apiv2app
[app:apiversions]
paste.app_factory = glance.api.versions:create_resource
[app:apiv2app]
paste.app_factory = glance.api.v2.router:API.factory
[filter:versionnegotiation]
paste.filter_factory = glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory
[filter:context]
paste.filter_factory = glance.api.middleware.context:ContextMiddleware.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
delay_auth_decision = true
X
cat >"$S/etc/neutron.conf" <<X
[DEFAULT]
bind_host = 127.0.0.1
bind_port = $NEUTRON
core_plugin = ml2
service_plugins = router
# no agents, so no RPC leaves this process
transport_url = fake://
api_workers = 0
rpc_workers = 0
state_path = $S/neutron
api_paste_config = $S/etc/neutron-paste.ini
notify_nova_on_port_status_changes = False
notify_nova_on_port_data_changes = False
[quotas]
default_quota = -1
quota_network = -1
quota_subnet = -1
quota_port = -1
quota_router = -1
quota_floatingip = -1
quota_security_group = -1
quota_security_group_rule = -1
[ml2]
type_drivers = local,flat,vlan,vxlan
tenant_network_types = vxlan
mechanism_drivers = openvswitch
extension_drivers = port_security
[ml2_type_vxlan]
vni_ranges = 1:10000
[ml2_type_flat]
flat_networks = *
[oslo_messaging_notifications]
driver = noop
$(authtoken neutron)
$(dbopts neutron)
X
cat >"$S/etc/neutron-paste.ini" <<'X'
[composite:neutron]
use = egg:Paste#urlmap
/: neutronversions
/v2.0: neutronapi_v2_0
[composite:neutronapi_v2_0]
use = call:neutron.auth:pipeline_factory
keystone = request_id catch_errors authtoken keystonecontext extensions neutronapiapp_v2_0
[app:neutronversions]
paste.app_factory = neutron.pecan_wsgi.app:versions_factory
[app:neutronapiapp_v2_0]
paste.app_factory = neutron.api.v2.router:APIRouter.factory
[filter:request_id]
paste.filter_factory = oslo_middleware:RequestId.factory
[filter:catch_errors]
paste.filter_factory = oslo_middleware:CatchErrors.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:keystonecontext]
paste.filter_factory = neutron.auth:NeutronKeystoneContext.factory
[filter:extensions]
paste.filter_factory = neutron.api.extensions:plugin_aware_extension_middleware_factory
X
cat >"$S/etc/nova.conf" <<X
[DEFAULT]
host = $NOVA_HOST
transport_url = rabbit://guest:guest@127.0.0.1:$AMQP/
enabled_apis = osapi_compute
osapi_compute_listen = 127.0.0.1
osapi_compute_listen_port = $NOVA
osapi_compute_workers = 1
state_path = $S/nova
my_ip = 127.0.0.1
# spawns nothing; says that 1000 vCPUs, 800 GB of memory and 600 TB of disk are there
compute_driver = fake.FakeDriver
# a resize needs a host, and there is one only
allow_resize_to_same_host = True
# no L2 agent will ever report a port as plugged
vif_plugging_is_fatal = False
vif_plugging_timeout = 0
# a server's addresses are only read again from neutron by this task
heal_instance_info_cache_interval = 60
[api]
auth_strategy = keystone
[wsgi]
api_paste_config = $S/etc/nova-paste.ini
[conductor]
workers = 1
[scheduler]
workers = 1
[quota]
instances = -1
cores = -1
ram = -1
server_groups = -1
server_group_members = -1
[api_database]
connection = $(db nova_api)
[glance]
api_servers = http://127.0.0.1:$GLANCE
[cinder]
catalog_info = volumev3::publicURL
[placement]
$(creds placement)
[neutron]
$(creds neutron)
# Cinder lets only services detach volumes from servers (CVE-2023-2088)
[service_user]
send_service_user_token = True
$(creds nova)
[oslo_messaging_notifications]
driver = noop
$(authtoken nova)
$(dbopts nova)
X
cat >"$S/etc/nova-paste.ini" <<'X'
[composite:osapi_compute]
use = call:nova.api.openstack.urlmap:urlmap_factory
/: oscomputeversions
/v2.1: oscomputeversion_v2
/v2.1/+: openstack_compute_api_v21
[composite:openstack_compute_api_v21]
use = call:nova.api.auth:pipeline_factory_v21
keystone = compute_req_id faultwrap sizelimit authtoken keystonecontext osapi_compute_app_v21
[pipeline:oscomputeversions]
pipeline = faultwrap oscomputeversionapp
[pipeline:oscomputeversion_v2]
pipeline = compute_req_id faultwrap oscomputeversionapp_v2
[app:osapi_compute_app_v21]
paste.app_factory = nova.api.openstack.compute:APIRouterV21.factory
[app:oscomputeversionapp]
paste.app_factory = nova.api.openstack.compute.versions:Versions.factory
[app:oscomputeversionapp_v2]
paste.app_factory = nova.api.openstack.compute.versions:VersionsV2.factory
[filter:compute_req_id]
paste.filter_factory = nova.api.compute_req_id:ComputeReqIdMiddleware.factory
[filter:faultwrap]
paste.filter_factory = nova.api.openstack:FaultWrapper.factory
[filter:sizelimit]
paste.filter_factory = oslo_middleware:RequestBodySizeLimiter.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:keystonecontext]
paste.filter_factory = nova.api.auth:NovaKeystoneContext.factory
X
cat >"$S/etc/cinder.conf" <<X
[DEFAULT]
host = $NOVA_HOST
# API, scheduler and volume service run in one process, so RPC needs no broker
transport_url = fake://
osapi_volume_listen = 127.0.0.1
osapi_volume_listen_port = $CINDER
osapi_volume_workers = 1
state_path = $S/cinder
api_paste_config = $S/etc/cinder-paste.ini
resource_query_filters_file = $S/etc/cinder-filters.json
enabled_backends = fake
default_volume_type = __DEFAULT__
glance_api_servers = http://127.0.0.1:$GLANCE
# not the CapacityFilter: the fake has 5 GB
scheduler_default_filters = AvailabilityZoneFilter,CapabilitiesFilter
quota_volumes = -1
quota_gigabytes = -1
[fake]
# Writes the calls into the log: there are no disks. No volume can be made from an image.
volume_driver = cinder.tests.fake_driver.FakeLoggingVolumeDriver
volume_backend_name = fake
[coordination]
backend_url = file://$S/cinder
[oslo_messaging_notifications]
driver = noop
$(authtoken cinder)
service_token_roles = admin
service_token_roles_required = True
$(dbopts cinder)
X
echo '{}' >"$S/etc/cinder-filters.json"
cat >"$S/etc/cinder-paste.ini" <<'X'
[composite:osapi_volume]
use = call:cinder.api:root_app_factory
/: apiversions
/v3: openstack_volume_api_v3
[composite:openstack_volume_api_v3]
use = call:cinder.api.middleware.auth:pipeline_factory
keystone = request_id faultwrap sizelimit authtoken keystonecontext apiv3
[pipeline:apiversions]
pipeline = request_id faultwrap osvolumeversionapp
[app:osvolumeversionapp]
paste.app_factory = cinder.api.versions:Versions.factory
[app:apiv3]
paste.app_factory = cinder.api.v3.router:APIRouter.factory
[filter:request_id]
paste.filter_factory = cinder.api.middleware.request_id:RequestId.factory
[filter:faultwrap]
paste.filter_factory = cinder.api.middleware.fault:FaultWrapper.factory
[filter:sizelimit]
paste.filter_factory = oslo_middleware.sizelimit:RequestBodySizeLimiter.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
[filter:keystonecontext]
paste.filter_factory = cinder.api.middleware.auth:CinderKeystoneContext.factory
X
mkdir -p "$S"/{images,neutron,nova,rabbit,cinder}
}
# ---------------------------------------------------------------- databases
say "database schemas"
K="--config-file $S/etc/keystone.conf"
keystone_setup() {
  mkdir -p "$S"/{fernet,credential}
  keystone-manage $K db_sync
  keystone-manage $K fernet_setup --keystone-user root --keystone-group root
  keystone-manage $K credential_setup --keystone-user root --keystone-group root
  keystone-manage $K bootstrap --bootstrap-password $PW --bootstrap-region-id RegionOne \
    --bootstrap-public-url $AUTH --bootstrap-internal-url $AUTH --bootstrap-admin-url $AUTH
}
nova_setup() {
  local n="py nova-manage nova.cmd.manage --config-file $S/etc/nova.conf"
  $n api_db sync
  $n cell_v2 map_cell0 --database_connection "$(db nova_cell0)"
  $n db sync
  $n cell_v2 list_cells | grep -q cell1 || $n cell_v2 create_cell --name=cell1
}
jobs_=()
once keystone-db keystone_setup & jobs_+=($!)
once heat-db py heat-manage heat.cmd.manage --config-file "$S/etc/heat.conf" db_sync & jobs_+=($!)
{
  once neutron-db py neutron-db-manage neutron.db.migration.cli --config-file "$S/etc/neutron.conf" upgrade heads & jobs_+=($!)
  once nova-db nova_setup & jobs_+=($!)
  once placement-db placement-manage --config-file "$S/etc/placement.conf" db sync & jobs_+=($!)
  once cinder-db py cinder-manage cinder.cmd.manage --config-file "$S/etc/cinder.conf" db sync & jobs_+=($!)
  once glance-db py glance-manage glance.cmd.manage --config-file "$S/etc/glance-api.conf" db_sync & jobs_+=($!)
}
for j in "${jobs_[@]}"; do wait "$j"; done

# ---------------------------------------------------------------- keystone
say "keystone"
OS_KEYSTONE_CONFIG_FILES="$S/etc/keystone.conf" wsgi keystone $KS 'keystone.server.wsgi:initialize_public_application()'
ready keystone get $KS
# Users, services and endpoints in one python process: `openstack` takes 2 s for each command.
services="heat:orchestration:http://127.0.0.1:$HEAT/v1/%(tenant_id)s"
services+=" nova:compute:http://127.0.0.1:$NOVA/v2.1 placement:placement:http://127.0.0.1:$PLACEMENT
  neutron:network:http://127.0.0.1:$NEUTRON glance:image:http://127.0.0.1:$GLANCE
  cinder:volumev3:http://127.0.0.1:$CINDER/v3/%(project_id)s"
catalog() { python3 - $PW $AUTH $services <<'X'
import sys
from keystoneauth1 import session
from keystoneauth1.identity import v3
from keystoneclient.v3 import client
k = client.Client(session=session.Session(auth=v3.Password(
    auth_url=sys.argv[2], username='admin', password=sys.argv[1],
    project_name='admin', user_domain_id='default', project_domain_id='default')))
def have(manager, name, /, find={}, **kw):
    return next(iter(manager.list(name=name, **find)), None) or manager.create(name, **find, **kw)
pw = sys.argv[1]
admin = have(k.roles, 'admin')
have(k.roles, 'heat_stack_user')
project = have(k.projects, 'service', find={'domain': 'default'})
for s in sys.argv[3:]:
    name, kind, url = s.split(':', 2)
    user = have(k.users, name, find={'domain': 'default'}, password=pw)
    k.roles.grant(admin, user=user, project=project)
    service = have(k.services, name, type=kind)
    for i in ('public', 'internal', 'admin'):
        if not k.endpoints.list(service=service, interface=i):
            k.endpoints.create(service, url, i, region='RegionOne')
domain = have(k.domains, 'heat')
user = have(k.users, 'heat_domain_admin', find={'domain': domain}, password=pw)
k.roles.grant(admin, user=user, domain=domain)
X
}
once catalog catalog

# ---------------------------------------------------------------- services
say "services"
# Debian's oslo.messaging (14.0.3-0+deb12u1) takes the trust out of the context of a notification,
# and heat 19 then cannot serialize it ("no password trust or auth_token"): every signal to a
# ScalingPolicy fails.  The notification driver is noop, so the context may go unredacted.
start heat python3 -c "import sys; sys.argv[0] = 'heat'
from heat.cmd.all import main
from oslo_messaging.notify import notifier
notifier._sanitize_context = lambda context: context
sys.exit(main())" --config-file "$S/etc/heat.conf"
{
  # RabbitMQ, for nova only.  The real script, not /usr/sbin/rabbitmq-server, which changes to the
  # user rabbitmq; epmd in the foreground, as the one rabbitmq starts would outlive it.
  export ERL_EPMD_ADDRESS=127.0.0.1 ERL_EPMD_PORT=$EPMD
  start epmd epmd
  ready epmd bash -c ": </dev/tcp/127.0.0.1/$EPMD"
  start rabbit env HOME="$S/rabbit" RABBITMQ_NODENAME=testbed@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 \
    RABBITMQ_NODE_PORT=$AMQP RABBITMQ_DIST_PORT=$((AMQP + 1)) RABBITMQ_MNESIA_BASE="$S/rabbit" RABBITMQ_LOGS=- \
    RABBITMQ_ENABLED_PLUGINS_FILE="$S/rabbit/plugins" RABBITMQ_CONF_ENV_FILE=/dev/null RABBITMQ_CONFIG_FILE="$S/rabbit/none" \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}" \
    /usr/lib/rabbitmq/bin/rabbitmq-server
  OS_PLACEMENT_CONFIG_DIR="$S/etc" wsgi placement $PLACEMENT 'placement.wsgi:init_application()'
  startpy glance glance.cmd.api --config-file "$S/etc/glance-api.conf"
  start cinder python3 -c "import sys; sys.argv[0] = 'cinder'
from cinder.cmd import volume # replaces blocking functions of Python before the rest is imported
from cinder import coordination, objects, rpc, service, version
from cinder.common import config
from oslo_log import log
from oslo_service import service as oslo
objects.register_all()
volume.CONF(sys.argv[1:], project='cinder', version=version.version_string())
config.set_middleware_defaults()
log.setup(volume.CONF, 'cinder')
coordination.COORDINATOR.start()
rpc.init(volume.CONF)
launcher = oslo.ServiceLauncher(volume.CONF)
launcher.launch_service(service.Service.create(binary='cinder-scheduler'))
launcher.launch_service(service.Service.create(host=volume.CONF.host + '@fake', service_name='fake', binary='cinder-volume', coordination=True))
launcher.launch_service(service.WSGIService('osapi_volume'))
launcher.wait()" --config-file "$S/etc/cinder.conf"
  startpy neutron neutron.cmd.eventlet.server --config-file "$S/etc/neutron.conf"
  ready rabbit bash -c ": </dev/tcp/127.0.0.1/$AMQP"
  startpy nova-conductor nova.cmd.conductor --config-file "$S/etc/nova.conf"
  startpy nova-scheduler nova.cmd.scheduler --config-file "$S/etc/nova.conf"
  startpy nova-api nova.cmd.api --config-file "$S/etc/nova.conf"
  ready placement get $PLACEMENT
  startpy nova-compute nova.cmd.compute --config-file "$S/etc/nova.conf"
  ready glance get $GLANCE
  ready cinder get $CINDER
  ready neutron get $NEUTRON
  ready nova-api get $NOVA
  # An L2 agent that is always alive (heartbeat in 2099) and does nothing: without one ml2 cannot
  # bind a port on the host and nova puts the server into ERROR (PortBindingFailed).
  sql neutron -e "insert ignore into agents (id,agent_type,\`binary\`,topic,host,admin_state_up,created_at,started_at,heartbeat_timestamp,configurations,\`load\`)
    values (uuid(),'Open vSwitch agent','neutron-openvswitch-agent','N/A','$NOVA_HOST',1,now(),now(),'2099-01-01',
    '{\"tunnel_types\": [\"vxlan\"], \"tunneling_ip\": \"127.0.0.1\", \"bridge_mappings\": {\"physnet1\": \"br-ex\"}, \"datapath_type\": \"system\"}',0)"
  ready nova-compute sh -c "mysql --no-defaults -uroot -S '$S/mysql.sock' -N nova -e 'select 1 from compute_nodes' | grep -q 1"
  once nova-hosts py nova-manage nova.cmd.manage --config-file "$S/etc/nova.conf" cell_v2 discover_hosts
}
ready heat get $HEAT
say "up in ${SECONDS} s"
