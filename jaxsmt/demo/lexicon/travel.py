"""The domain of journeys by sea and rail."""

from jaxsmt.demo.words import adjectives, compounds, nouns, phrases, verbs

NOUNS = nouns({
    "person": """
        m capitaine = captain; m marin = sailor; m passager = passenger; f passagère = passenger; m pilote = pilot
        m navigateur = navigator; m contrôleur = inspector; f contrôleuse = inspector; m mécanicien = mechanic
        m mousse = cabin boy; m voyageur = traveller; f voyageuse = traveller; m pêcheur = fisherman/fishermen
        m douanier = customs officer; m matelot = deckhand; f hôtesse = stewardess; m chef = chief
        m client = customer
        m touriste = tourist; m porteur = porter; m garde = guard
    """,
    "thing gear": """
        f corde = rope; f ancre = anchor; f voile = sail; f bouée = lifebelt; f rame = oar; m filet = net
        f échelle = ladder; f chaîne = chain; f balise = beacon; m crochet = hook; f clé = spanner; f pile = battery
        m nœud = knot; f poignée = handle; m gilet = lifejacket; f boussole = compass; f barre = helm!; m fil = wire
        f pièce = part; f lanterne = lantern; f pompe = pump
    """,
    "thing paper": """
        m billet = ticket; m passeport = passport; f carte = map; m horaire = timetable; m dossier = booking
        m journal/journaux = newspaper; m tampon = stamp; f facture = invoice; m visa = visa; m plan = plan
        m tableau/tableaux = board!
    """,
    "thing luggage": """
        f valise = suitcase; m bagage = piece of luggage/pieces of luggage; m paquet = parcel; f malle = trunk
        m colis = package; f caisse = crate; m vélo = bicycle; f tente = tent; m manteau/manteaux = coat
    """,
    "vehicle ship": """
        m bateau/bateaux = boat; m navire = ship; m voilier = sailing boat; m bac = ferry; m remorqueur = tug
        m canot = dinghy; m paquebot = liner; m cargo = freighter; m chalutier = trawler; f barque = rowing boat
    """,
    "vehicle rail": "f voiture = coach; m wagon = wagon; f locomotive = locomotive",
    "vehicle rail train": """
        m train = train; m tramway = tram; m autorail = railcar; f navette = shuttle; m métro = underground train
    """,
    "engine": "f coque = hull; f hélice = propeller; m frein = brake; f commande = control",
    "engine motor": "m moteur = engine; f chaudière = boiler; m radar = radar; m projecteur = searchlight",
    "thing": "m bouton = button; f boîte = box; f glace = ice mass; f monnaie = change mass",
    "place": """
        m port = harbour!; f gare = station; f passerelle = bridge; m pont = deck!; f cuisine = galley; m bar = bar
        m bureau/bureaux = office; f plage = beach; f côte = coast; m phare = lighthouse; m musée = museum
    """,
    "place crossable": """
        m canal/canaux = canal; f île = island; m tunnel = tunnel; m village = village; f vallée = valley
    """,
    "place bookable": "f cabine = cabin; m hôtel = hotel; m compartiment = compartment",
    "spot": """
        m quai = platform; m arrêt = stop!; f entrée = entrance; f sortie = exit; f grille = gate
        m guichet = ticket office; f écluse = lock; m hublot = porthole
    """,
    "spot crossable": "f voie = track; f frontière = border",
    "spot bookable": "f place = seat; f couchette = berth",
    "event mishap": """
        f panne = breakdown!; m retard = delay; f tempête = storm; m naufrage = shipwreck; f grève = strike
        f avarie = damage mass; m accident = accident
    """,
    "event trip": """
        f correspondance = connection!; m quart = watch; m voyage = journey; f traversée = crossing
        m départ = departure; f escale = stopover; f excursion = excursion; f croisière = cruise
    """,
    "weather": "m vent = wind; f nuit = night; f brume = mist; m courant = current; f houle = swell; f marée = tide",
}) + compounds(
    "thing paper",
    "m billet = ticket; m horaire = timetable",
    "train = train; bateau = boat; tramway = tram",
) + compounds(
    "vehicle ship",
    "m bateau/bateaux = boat",
    "pêche = fishing; plaisance = pleasure",
)  # fmt: skip

ADJECTIVES = adjectives({
    "vehicle": """
        complet = full; rapide = fast; lent = slow; confortable = comfortable; direct = direct; bondé = crowded
    """,
    "weather": "frais/fraîche = cool; froid = cold; violent = violent; calme = calm; favorable = favourable",
    "luggage": """
        léger/légère = light; lourd = heavy; perdu = lost; volé = stolen; fragile = fragile; encombrant = bulky
    """,
    "gear": "rouillé = rusty; mouillé = wet; usé = worn; long/longue = long",
    "place": """
        étroit = narrow; lointain = distant; célèbre = famous; fermé = closed; désert = deserted; voisin = nearby
    """,
    "paper": "valable = valid; périmé = expired; gratuit = free; détaillé = detailed",
    "engine": "bruyant = noisy; puissant = powerful; défectueux = faulty; neuf/neuve = brand-new",
    "mishap": "imprévu = unexpected; grave = serious",
    "trip": "maritime = maritime; <long/longue = long; agréable = pleasant; dangereux = dangerous",
})  # fmt: skip

TRANSITIVE = verbs("""
    amarrer = moor : ship; conduire = drive : rail; enregistrer = check ~in : luggage; supprimer = cancel : train
    couper = switch ~off : motor; lancer = throw : gear; saisir = grab : gear luggage
    réparer = repair : engine vehicle gear
    manquer = miss : train trip; prendre = take : vehicle; quitter = leave : place vehicle; atteindre = reach : place
    traverser = cross : crossable; valider = validate : paper; contrôler = inspect : paper luggage
    porter = carry : luggage
    charger = load : luggage; décharger = unload : luggage; retarder = delay : train; tirer = pull : gear
    réserver = book : bookable; coller = stick : paper; ranger = stow : luggage gear
    annuler = call ~off : trip; piloter = pilot : ship; arrêter = stop : engine vehicle; visiter = visit : place
    transporter = transport : luggage; signaler = report : mishap; présenter = present : paper
    affronter = face : mishap
    remorquer = tow : ship; admirer = admire : place ship; photographier = photograph : ship place
    allumer = switch ~on : motor; accrocher = hang ~up : gear; payer = pay for : paper
""")  # fmt: skip
INTRANSITIVE = verbs("""
    partir = leave : vehicle; arriver = arrive : vehicle; naviguer = sail : ship person; flotter = float : ship
    ralentir = slow ~down : vehicle; couler = sink : ship; monter = get on : person; descendre = get off : person
    tomber = drop : weather; voyager = travel : person; dormir = sleep : person
""", is_transitive=False)  # fmt: skip
PLACES = phrases("""
    à bord = on board; sur le quai = on the platform; dans le port = in the harbour; à la gare = at the station
    sur le pont = on deck; dans la cabine = in the cabin; près de l'entrée = near the entrance
    à la frontière = at the border
    devant la sortie = in front of the exit; dans la voiture numéro deux = in coach number two
    au guichet = at the ticket office
    sur la passerelle = on the bridge
    derrière la grille = behind the gate; au bar = at the bar
""")  # fmt: skip
RELATIONS = nouns({
    "vehicle": "f vitesse = speed; m retard = delay; m capitaine = captain; m départ = departure; f taille = size",
    "place": "m nom = name; f porte = door; f lumière = light; f largeur = width; m bruit = noise",
    "thing": "m prix/prix = price; f couleur = colour; m poids/poids = weight; m propriétaire = owner",
    "event": "f durée = duration; f date = date; f cause = cause",
})  # fmt: skip
FRAMES = phrases("""
    Le train pour {city} part à {hour} heures . = The train to {city} leaves at {hour} o'clock .
    {the1:ship} arrive à {city} dans {num} heures . = {the1:ship} arrives in {city} in {num} hours .
    Un aller simple pour {city} , s'il vous plaît . = A single to {city} , please .
    {the1:vehicle} pour {city} a {num} minutes de retard . = {the1:vehicle} to {city} is {num} minutes late .
    Nous avons besoin de {num} {bares:gear} avant de {inf} . = We need {num} {bares:gear} before we {inf} .
    Entre {city} et {city#2} , {the1:ship} ralentit . = Between {city} and {city#2} , {the1:ship} slows down .
    {the1:place} se trouve à {num} kilomètres de {city} . = {the1:place} is {num} kilometres from {city} .
    À {city} , les passagers doivent {inf} . = In {city} , the passengers must {inf} .
    Prenez {the1:vehicle} jusqu'à {city} , puis {the1:ship#2} . = Take {the1:vehicle} to {city} , then {the1:ship#2} .
    Faites attention à {the:place} en descendant . = Mind {the:place} when getting off .
    Pour aller à {city} , il faut {inf} . = To go to {city} , you must {inf} .
    Le vent est frais à {city} ce matin . = The wind is cool in {city} this morning .
    La nuit sera fraîche entre {city} et {city#2} . = The night will be cool between {city} and {city#2} .
    Montez dans {the1:vehicle} à {city} . = Get on {the1:vehicle} in {city} .
    Il est interdit de {inf} {atplace} . = It is forbidden to {inf} {atplace} .
    De {city} , on voit {the1:place} et {the:ship} . = From {city} , we can see {the1:place} and {the:ship} .
    Le voyage jusqu'à {city} dure {num} heures . = The journey to {city} takes {num} hours .
""")  # fmt: skip
VISITORS = """
    ordinateur imprimante fichier mot_de_passe écran clavier application logiciel souris technicien courriel
    couteau gâteau fromage soupe assiette salade bougie torchon verre boulanger serveuse cuisinier fourchette dessert
    délicieux sucré épicé compatible
    laver imprimer goûter télécharger sécher vider
"""
