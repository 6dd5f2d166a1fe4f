"""The three groups exist from the start; a later migration gives them their permissions."""

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

GROUPS = ("admins", "operators", "guests")


def make_groups(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Makes the groups."""
    group = apps.get_model("auth", "Group")
    for name in GROUPS:
        group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    """Depends on auth's tables."""

    dependencies = [("chat", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(make_groups, migrations.RunPython.noop)]
